import { setTimeout as sleep } from 'node:timers/promises';

import type { JSX } from 'hono/jsx/jsx-runtime';

import type { PageEnv, Viewer } from '../access/session.ts';
import { renderText } from '../page/layout.tsx';

/** The parts of a page that change, by the ids of their elements. */
export type Fragments = Readonly<Record<string, JSX.Element>>;

export interface LivePage {
  readonly fragments: (viewer: Viewer) => Fragments | Promise<Fragments>;
  /** Calls back when a part may have changed. @returns a function that unsubscribes. */
  readonly subscribe: (changed: () => void) => () => void;
}

/** How often something is sent, in milliseconds: a proxy closes a silent connection, and the page takes it for dead. */
const PING_MS = 15_000;
/** A reader that is this many bytes behind is disconnected. The browser reconnects and gets the whole page. */
const UNREAD_MAX_BYTES = 1_000_000;

/** The shortest time between two renderings of a page, in milliseconds. Changes in between are rendered together. */
const RENDER_EVERY_MS = 100;

const encoder = new TextEncoder();
const PING = encoder.encode('event: ping\ndata: 0\n\n');

class Reader {
  readonly body: ReadableStream<Uint8Array>;
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  readonly #ping: NodeJS.Timeout;
  readonly #ending: NodeJS.Timeout;
  readonly #onLeave: (reader: Reader) => void;

  /**
   * @param ends - when the stream ends, in milliseconds since 1970.
   * @param onLeave - called when it has ended, or the browser has disconnected.
   */
  constructor(ends: number, onLeave: (reader: Reader) => void) {
    this.#onLeave = onLeave;
    this.body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        cancel: () => this.#leave(),
      },
      { highWaterMark: UNREAD_MAX_BYTES, size: (chunk) => chunk.byteLength },
    );
    this.#ping = setInterval(() => this.send(PING), PING_MS).unref();
    this.#ending = setTimeout(() => this.close(), ends - Date.now()).unref();
  }

  /** @returns whether the browser keeps up with the stream. */
  send(bytes: Uint8Array): boolean {
    this.#controller?.enqueue(bytes);
    return (this.#controller?.desiredSize ?? 0) > 0;
  }

  /** Ends the stream from the server. The browser connects again. */
  close(): void {
    this.#controller?.close();
    this.#leave();
  }

  #leave(): void {
    this.#controller = undefined;
    clearInterval(this.#ping);
    clearTimeout(this.#ending);
    this.#onLeave(this);
  }
}

interface Room {
  readonly readers: Set<Reader>;
  readonly end: () => void;
  /** The HTML of each part, as it was last sent. */
  sent: ReadonlyMap<string, string>;
}

/** The open pages. Those that show the same to one viewer share a room, which renders each change once. */
export class LiveRooms {
  readonly #rooms = new Map<string, Promise<Room>>();
  readonly #version: string;
  #openPages = 0;

  /** @param version - of the page's files. A browser with another version reloads the page. */
  constructor(version: string) {
    this.#version = version;
  }

  get counts(): { readonly rooms: number; readonly pages: number } {
    return { rooms: this.#rooms.size, pages: this.#openPages };
  }

  /**
   * Streams the changes of a page as server-sent events, starting with all of its parts, until the session ends.
   * @param address - the page's own.
   */
  async open(
    address: string,
    { viewer, session }: Pick<PageEnv['Variables'], 'viewer' | 'session'>,
    makePage: () => Promise<LivePage>,
  ): Promise<Response> {
    const key = JSON.stringify([address, viewer]);
    let opening = this.#rooms.get(key);
    if (opening === undefined) {
      opening = makePage().then((page) => this.#makeRoom(viewer, page));
      this.#rooms.set(key, opening);
      opening.catch(() => this.#rooms.delete(key));
    }
    const room = await opening;
    const reader = new Reader(session.ends, (gone) => this.#leave(key, room, gone));
    room.readers.add(reader);
    this.#openPages += 1;
    reader.send(encoder.encode(versionEvent(this.#version)));
    reader.send(encoder.encode(fragmentsEvent(room.sent) + orderEvent(room.sent)));
    return streamOf(reader.body);
  }

  async #makeRoom(viewer: Viewer, page: LivePage): Promise<Room> {
    let isRendering = false;
    let isStale = false;
    const render = async (): Promise<void> => {
      isStale = true;
      if (isRendering) return;
      isRendering = true;
      try {
        while (isStale) {
          isStale = false;
          sendChanged(room, await page.fragments(viewer));
          // The first change is sent at once, those soon after it together.
          if (room.readers.size > 0) await sleep(RENDER_EVERY_MS, undefined, { ref: false });
        }
      } finally {
        isRendering = false;
      }
    };
    const room: Room = {
      readers: new Set(),
      sent: new Map(),
      end: page.subscribe(() => {
        render().catch((error: unknown) => {
          process.stderr.write(`a page could not be rendered: ${String(error)}\n`);
          for (const reader of [...room.readers]) reader.close();
        });
      }),
    };
    try {
      await render();
    } catch (error) {
      room.end();
      throw error;
    }
    return room;
  }

  #leave(key: string, room: Room, reader: Reader): void {
    if (!room.readers.delete(reader)) return;
    this.#openPages -= 1;
    if (room.readers.size > 0) return;
    room.end();
    this.#rooms.delete(key);
  }
}

/** Makes a live page load itself again, as for another version of the page's files. */
export function reloadPage(): Response {
  return streamOf(versionEvent('none'));
}

function versionEvent(version: string): string {
  return `retry: 1000\nevent: version\ndata: ${version}\n\n`;
}

function streamOf(body: string | ReadableStream<Uint8Array>): Response {
  return new Response(body, { headers: { 'Content-Type': 'text/event-stream', 'X-Accel-Buffering': 'no' } });
}

function sendChanged(room: Room, fragments: Fragments): void {
  const before = room.sent;
  room.sent = new Map(Object.entries(fragments).map(([id, element]) => [id, renderText(element)]));
  const changed = new Map([...room.sent].filter(([id, html]) => before.get(id) !== html));
  const isInOrder = orderEvent(before) === orderEvent(room.sent);
  const news = `${changed.size === 0 ? '' : fragmentsEvent(changed)}${isInOrder ? '' : orderEvent(room.sent)}`;
  if (news === '') return;
  const event = encoder.encode(news);
  for (const reader of [...room.readers]) {
    if (!reader.send(event)) reader.close();
  }
}

function fragmentsEvent(fragments: Room['sent']): string {
  return `event: fragments\ndata: ${JSON.stringify(Object.fromEntries(fragments))}\n\n`;
}

/** The ids of all parts, as they follow each other on the page. */
function orderEvent(fragments: Room['sent']): string {
  return `event: order\ndata: ${JSON.stringify([...fragments.keys()])}\n\n`;
}
