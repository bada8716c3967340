import { raw } from 'hono/html';
import { expect, it } from 'vitest';

import type { Viewer } from '../../../src/dashboard/access/session.ts';
import { type LivePage, LiveRooms } from '../../../src/dashboard/live/liveRooms.ts';

const ADA: Viewer = { name: 'ada', proved: false, role: 'admin' };
/** A person on the page. */
const as = (viewer: Viewer) => ({ viewer, session: { csrf: '', ends: Date.now() + 60_000 } });

/** A page with two parts, one of which a test can change. */
function scriptedPage() {
  let text = 'one';
  const rendered: string[] = [];
  const listeners = new Set<() => void>();
  const page: LivePage = {
    fragments: ({ name }) => {
      rendered.push(name);
      return { a: raw(`<p id="a">${text}</p>`), b: raw('<p id="b">same</p>') };
    },
    subscribe: (changed) => {
      listeners.add(changed);
      return () => listeners.delete(changed);
    },
  };
  return {
    page,
    rendered,
    listeners,
    change: (to: string) => {
      text = to;
      for (const listener of listeners) listener();
    },
  };
}

/** Reads a page's stream until it contains a text. */
async function readUntil(response: Response, wanted: string): Promise<string> {
  const reader = response.body!.getReader();
  let all = '';
  while (!all.includes(wanted)) {
    const { value, done } = await reader.read();
    if (done) break;
    all += Buffer.from(value).toString();
  }
  reader.releaseLock();
  return all;
}

it('starts with every part, then sends only changed ones, rendered once for two hundred pages', async () => {
  const { page, rendered, change, listeners } = scriptedPage();
  const rooms = new LiveRooms('v1');
  const open = () => rooms.open('/', as(ADA), () => Promise.resolve(page));
  const pages = await Promise.all(Array.from({ length: 200 }, open));
  expect(listeners.size).toBe(1);
  const begun = await Promise.all(pages.map((response) => readUntil(response, 'same')));
  for (const text of begun) expect(text).toContain('event: version\ndata: v1');
  change('two');
  const changed = await Promise.all(pages.map((response) => readUntil(response, 'two')));
  for (const text of changed) expect(text).not.toContain('same');
  expect(rendered).toHaveLength(2);
});

it('sends the order of the parts at first, and again when a part is added', async () => {
  let names = ['a', 'c'];
  let changed = (): void => undefined;
  const page: LivePage = {
    fragments: () => Object.fromEntries(names.map((name) => [name, raw(`<p id="${name}"></p>`)])),
    subscribe: (listener) => {
      changed = listener;
      return () => undefined;
    },
  };
  const response = await new LiveRooms('v1').open('/', as(ADA), () => Promise.resolve(page));
  expect(await readUntil(response, 'event: order')).toContain('event: order\ndata: ["a","c"]\n\n');
  names = ['a', 'b', 'c'];
  changed();
  const news = await readUntil(response, 'event: order');
  expect(news).toContain('event: order\ndata: ["a","b","c"]\n\n');
  expect(news).not.toContain('id=\\"a\\"');
});

it('renders rapid changes once', async () => {
  const { page, rendered, change } = scriptedPage();
  const response = await new LiveRooms('v1').open('/', as(ADA), () => Promise.resolve(page));
  for (let turn = 1; turn <= 50; turn++) {
    change(`turn ${turn}.`);
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await readUntil(response, 'turn 50.')).toContain('turn 1.');
  expect(rendered.length).toBeLessThan(10);
});

it('renders for each viewer, and stops without open pages', async () => {
  const { page, rendered, listeners } = scriptedPage();
  const rooms = new LiveRooms('v1');
  const open = (name: string) => rooms.open('/', as({ ...ADA, name }), () => Promise.resolve(page));
  const pages = [await open('ada'), await open('lin')];
  expect(rendered).toEqual(['ada', 'lin']);
  expect(listeners.size).toBe(2);
  for (const response of pages) await response.body!.cancel();
  expect(listeners.size).toBe(0);
});

it('opens again after a read of the page failed', async () => {
  const { page } = scriptedPage();
  const rooms = new LiveRooms('v1');
  const failing = rooms.open('/', as(ADA), () => Promise.reject(new Error('Temporal is away')));
  await expect(failing).rejects.toThrow('away');
  const response = await rooms.open('/', as(ADA), () => Promise.resolve(page));
  expect(await readUntil(response, 'one')).toContain('one');
});
