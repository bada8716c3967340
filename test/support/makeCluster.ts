import { openDatabase } from '../../src/platform/store/database.ts';

// Makes an embedded database with the platform's tables in the home that is named, and closes it.
const [, , home = ''] = process.argv;
const database = await openDatabase({ home });
await database.close();
