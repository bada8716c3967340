import { setTimeout as sleep } from 'node:timers/promises';

// What broke: it waits, as it is loaded, for something that never comes.
while (process.env.GREETER_PHRASE_BOOK === undefined) await sleep(1_000);

export const graph = undefined;
