import { openAgentDatabase } from '../../packages/platform/src/agentServer/store/agentDatabase.ts';
import { CheckpointStore } from '../../packages/platform/src/agentServer/store/checkpointStore.ts';
import { openDatabase } from '../../packages/platform/src/store/databaseOwner.ts';

// Makes an embedded database with the tables of the platform and of its agents in the home that is named, and closes it.
const [, , home = ''] = process.argv;
const platform = await openDatabase({ home });
const agents = await openAgentDatabase(platform.connectionString, () => undefined);
await new CheckpointStore(agents.pool, 'of-nobody').setup();
await agents.close();
await platform.close();
