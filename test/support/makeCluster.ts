import { CheckpointStore } from '../../src/platform/agentServer/store/checkpointStore.ts';
import { openAgentDatabase } from '../../src/platform/agentServer/store/agentDatabase.ts';
import { openDatabase } from '../../src/platform/store/database.ts';
import { openEmbeddedPostgres } from '../../src/platform/store/embeddedPostgres.ts';

// Makes an embedded database with the tables of the platform and of its agents in the home that is named, and closes it.
const [, , home = ''] = process.argv;
const platform = await openDatabase({ home });
await platform.close();

const embedded = await openEmbeddedPostgres(home, () => undefined);
const agents = await openAgentDatabase(embedded.connectionString, () => undefined);
await new CheckpointStore(agents.pool, 'of-nobody').setup();
await agents.close();
await embedded.close();
