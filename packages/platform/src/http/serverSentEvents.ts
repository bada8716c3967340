/** What the events of a stream are read from. */
export interface EventReader {
  /**
   * The next event's bytes; `undefined` at the end; `'idle'` when nothing came for `idleMs`. One call at a time.
   * @throws what the stream was broken off with.
   */
  next(idleMs: number): Promise<Uint8Array | undefined | 'idle'>;
  /** Bytes that wait for this reader in memory, where some do. */
  readonly queuedBytes?: number;
  /** The reader is gone: nothing is kept for it any more. */
  leave(): void;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();
const LINE_END = 10;

/** An event as it goes over the wire. `data` is JSON, which has no raw line breaks. */
export function encodeEvent(event: string, data: string, id?: number | string): Uint8Array {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  return encoder.encode(`event: ${event}\n${idLine}data: ${data}\n\n`);
}

/** The name of an encoded event. */
export function eventNameOf(frame: Uint8Array): string {
  return decoder.decode(frame.subarray('event: '.length, frame.indexOf(LINE_END)));
}

/** An encoded event with another id, which is made of the one that it has; one without an id stays as it is. */
export function withId(frame: Uint8Array, rename: (id: string) => string): Uint8Array {
  const nameEnd = frame.indexOf(LINE_END) + 1;
  const idEnd = frame.indexOf(LINE_END, nameEnd) + 1;
  const idLine = decoder.decode(frame.subarray(nameEnd, idEnd));
  const id = /^id: (.*)\n$/.exec(idLine)?.[1];
  if (id === undefined) return frame;
  return Buffer.concat([
    frame.subarray(0, nameEnd),
    encoder.encode(`id: ${rename(id)}\n`),
    frame.subarray(idEnd),
  ]);
}
