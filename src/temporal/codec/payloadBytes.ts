import type { Payload } from '@temporalio/common';
import protobuf from 'protobufjs/minimal.js';

/** Field 1, length-delimited: an entry of `map<string, bytes> metadata`. Field 2: `bytes data`. */
const METADATA = 1;
const DATA = 2;
const tagOf = (field: number): number => (field << 3) | 2;

/** A payload as the bytes of `temporal.api.common.v1.Payload`, which is what Temporal's sample codecs encrypt. */
export function payloadToBytes({ metadata, data }: Payload): Uint8Array {
  const writer = protobuf.Writer.create();
  for (const [name, value] of Object.entries(metadata ?? {})) {
    writer.uint32(tagOf(METADATA)).fork();
    writer.uint32(tagOf(1)).string(name).uint32(tagOf(2)).bytes(value).ldelim();
  }
  if (data != null) writer.uint32(tagOf(DATA)).bytes(data);
  return writer.finish();
}

/** @throws RangeError or Error if the bytes are no payload. */
export function payloadFromBytes(bytes: Uint8Array): Payload {
  const reader = protobuf.Reader.create(bytes);
  const metadata: Record<string, Uint8Array> = {};
  let data: Uint8Array = new Uint8Array();
  while (reader.pos < reader.len) {
    const tag = reader.uint32();
    if (tag === tagOf(METADATA)) {
      const [name, value] = readEntry(reader);
      metadata[name] = value;
    } else if (tag === tagOf(DATA)) data = reader.bytes();
    else reader.skipType(tag & 7);
  }
  return { metadata, data };
}

function readEntry(reader: protobuf.Reader): [name: string, value: Uint8Array] {
  const length = reader.uint32();
  const end = reader.pos + length;
  let name = '';
  let value: Uint8Array = new Uint8Array();
  while (reader.pos < end) {
    const tag = reader.uint32();
    if (tag === tagOf(1)) name = reader.string();
    else if (tag === tagOf(2)) value = reader.bytes();
    else reader.skipType(tag & 7);
  }
  return [name, value];
}
