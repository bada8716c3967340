import { openAgentDatabase } from '../../packages/platform/src/agentServer/store/agentDatabase.ts';
import { openDatabase } from '../../packages/platform/src/store/database.ts';

// Creates an embedded database with the platform's and the agents' tables in the given home, and closes it.
const [, , home = ''] = process.argv;
const platform = await openDatabase({ home });
const agents = await openAgentDatabase(platform.connectionString, () => undefined);
await agents.close();
await platform.close();
