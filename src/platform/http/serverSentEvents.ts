/** What the events of a stream are read from. */
export interface EventReader {
  /**
   * The next event's bytes; `undefined` at the end; `'idle'` when nothing came for `idleMs`. One call at a time.
   * @throws what the stream was broken off with.
   */
  next(idleMs: number): Promise<Uint8Array | undefined | 'idle'>;
  /** The reader is gone: nothing is kept for it any more. */
  leave(): void;
}

const encoder = new TextEncoder();

/** An event as it goes over the wire. `data` is JSON, which has no raw line breaks. */
export function encodeEvent(event: string, data: string, id?: number | string): Uint8Array {
  const idLine = id === undefined ? '' : `id: ${id}\n`;
  return encoder.encode(`event: ${event}\n${idLine}data: ${data}\n\n`);
}
