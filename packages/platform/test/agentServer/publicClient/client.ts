import { Client } from '@langchain/langgraph-sdk';

type Room = 'threads' | 'runs' | 'assistants' | 'store' | 'crons';

/** The public client, without retries, which also records the called methods of its parts. */
export function usePublicClient(url: () => string, rooms: readonly Room[]) {
  const called = new Set<string>();
  const offered = rooms.flatMap((room) => methodsOf(room).map((method) => `${room}.${method}`));
  const client = (): Client => {
    const made = new Client({ apiUrl: url(), apiKey: null, callerOptions: { maxRetries: 0 } });
    for (const room of rooms) {
      const own = made[room] as unknown as Record<string, unknown>;
      for (const method of methodsOf(room)) {
        const original = own[method] as (...given: unknown[]) => unknown;
        own[method] = (...given: unknown[]) => {
          called.add(`${room}.${method}`);
          return original.apply(own, given);
        };
      }
    }
    return made;
  };
  return { client, uncalled: () => offered.filter((method) => !called.has(method)) };
}

function methodsOf(room: Room): string[] {
  const prototype = Object.getPrototypeOf(new Client({ apiUrl: 'http://nowhere' })[room]) as object;
  return Object.getOwnPropertyNames(prototype).filter((name) => name !== 'constructor');
}
