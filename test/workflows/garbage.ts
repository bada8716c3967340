import fc from 'fast-check';

import { INTERVENTION_KINDS } from '../../src/domain/intervention/intervention.ts';

/** A message that no correct client sends. */
export interface Garbage {
  /** To the target, or to the release or rollback that runs on it. */
  readonly to: 'target' | 'work';
  readonly way: 'signal' | 'bytes' | 'update' | 'query';
  readonly name: string;
  readonly payload: unknown;
  /** For `bytes`: the payload's declared encoding. */
  readonly encoding: string;
}

/** Signals and updates that targets and releases handle. */
export const KNOWN_NAMES = [
  ...INTERVENTION_KINDS,
  ...['rollback', 'hold', 'unhold', 'quarantine', 'unquarantine', 'withdraw', 'preempt', 'submitRelease'],
];
const STRANGE_NAMES = [
  '__temporal_x',
  '__stack_trace',
  '__proto__',
  'constructor',
  'toString',
  'Rollback',
  ' ',
];
const FIELDS = ['requestId', 'to', 'what', 'release', 'artifact', 'who', 'from', 'reason', 'requestedBy'];
const ENCODINGS = [
  'json/plain',
  'binary/encrypted',
  'binary/null',
  'binary/plain',
  'json/protobuf',
  '',
  '\u0000',
];

const name: fc.Arbitrary<string> = fc.oneof(
  { weight: 8, arbitrary: fc.constantFrom(...KNOWN_NAMES) },
  { weight: 1, arbitrary: fc.constantFrom(...STRANGE_NAMES) },
  { weight: 1, arbitrary: fc.string({ minLength: 1, maxLength: 50 }) },
);

const text: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '',
    ' ',
    '__proto__',
    'greets',
    'soak',
    'release-1',
    'sha256:0000',
    '\ud800',
    '\u0000',
    'git:x',
  ),
  fc.constant('x'.repeat(1_001)),
  fc.constant('ü'.repeat(20_000)),
);

const fieldValue: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: text },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);

const payload: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 4, arbitrary: fc.dictionary(fc.constantFrom(...FIELDS), fieldValue) },
  { weight: 2, arbitrary: fc.jsonValue() },
  { weight: 1, arbitrary: text },
  // Own properties, as decoded from the wire, instead of inherited ones.
  {
    weight: 1,
    arbitrary: fc
      .constantFrom('{"__proto__":{"to":1}}', '{"constructor":{}}')
      .map((it) => JSON.parse(it) as unknown),
  },
  { weight: 1, arbitrary: fc.constant(undefined) },
);

/** One message with any name, channel and content. */
const garbage: fc.Arbitrary<Garbage> = fc.record({
  to: fc.constantFrom('target', 'work'),
  way: fc.oneof(
    { weight: 5, arbitrary: fc.constant('signal' as const) },
    { weight: 2, arbitrary: fc.constant('bytes' as const) },
    { weight: 2, arbitrary: fc.constant('update' as const) },
    { weight: 1, arbitrary: fc.constant('query' as const) },
  ),
  name,
  payload,
  encoding: fc.constantFrom(...ENCODINGS),
});

/** A few messages, some of them sent twice. */
export const someGarbage: fc.Arbitrary<readonly Garbage[]> = fc
  .array(garbage, { minLength: 4, maxLength: 12 })
  .chain((messages) => fc.subarray(messages).map((again) => [...messages, ...again]));
