import { openAgentDatabase } from '../../packages/platform/src/agentServer/store/agentDatabase.ts';
import { openDatabase } from '../../packages/platform/src/store/databaseOwner.ts';

// Makes an embedded database with the tables of the platform and of its agents in the home that is named, and closes it.
const [, , home = ''] = process.argv;
const platform = await openDatabase({ home });
const agents = await openAgentDatabase(platform.connectionString, () => undefined);
await agents.close();
await platform.close();
