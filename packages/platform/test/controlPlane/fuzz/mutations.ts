import fc from 'fast-check';

const WORDS = [
  'main',
  'refs/tags/v1',
  'refs/tags/',
  'graph.json',
  '../graph.json',
  '/etc/passwd',
  'https://git.invalid/agent.git',
  'registry.invalid/agent:1',
  'tarballs/x/y.tar.gz',
  'repo_host',
  'external_image',
  'prod',
  '',
  ' ',
  '\0',
  '\uD800',
  'é'.repeat(40),
  '1e400',
  '__proto__',
  'null',
];

/** The usual value, so many times as often as each of the others. */
export function mostly<T, O>(
  weight: number,
  usual: T | fc.Arbitrary<T>,
  ...others: (O | fc.Arbitrary<O>)[]
): fc.Arbitrary<T | O> {
  const arbitraryOf = <V>(value: V | fc.Arbitrary<V>) =>
    value instanceof fc.Arbitrary ? value : fc.constant(value);
  return fc.oneof<fc.WeightedArbitrary<T | O>[]>(
    { weight, arbitrary: arbitraryOf(usual) },
    { weight: 1, arbitrary: fc.oneof(...others.map(arbitraryOf)) },
  );
}

const NUMBERS = [0, -1, 0.05, 0.1, 1.25, 8, 8.01, 16, 17, 1e9, 1e308];

/** Values of any kind, mostly invalid in every place. */
export const garbage: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 3, arbitrary: fc.constantFrom<unknown>(null, true, false, ...NUMBERS) },
  { weight: 3, arbitrary: fc.constantFrom<unknown>(...WORDS) },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.uuid() },
  { weight: 1, arbitrary: fc.string({ unit: 'binary', maxLength: 30 }) },
  { weight: 1, arbitrary: fc.constantFrom<unknown>([], {}, [null], [[]], { name: 1 }, 'x'.repeat(5_000)) },
);

/** A change of a value: `where` picks the place, `how` is the change, `value` its operand. */
export interface Mutation {
  readonly where: number;
  readonly how: 'replace' | 'remove' | 'add' | 'wrap' | 'repeat';
  readonly value: unknown;
}

export const mutation: fc.Arbitrary<Mutation> = fc.record({
  where: fc.nat(200),
  how: fc.constantFrom('replace', 'replace', 'remove', 'add', 'wrap', 'repeat'),
  value: garbage,
});

/** The contract's field names, for fields that are added in wrong places. */
const FIELDS =
  'name source secrets secret_references repo_ref repo_url image_uri source_tarball_path graph_config_path build_on_push custom_url resource_spec listener_id listener_config cpu memory_mb value valueFrom volumes langgraph_config_path __proto__ constructor'.split(
    ' ',
  );

/** A changed copy of a body. */
export function mutated(body: unknown, { where, how, value }: Mutation): unknown {
  const root = { body: structuredClone(body) };
  const places: { holder: Record<string, unknown>; key: string }[] = [];
  const visit = (holder: Record<string, unknown>): void => {
    for (const key of Object.keys(holder)) {
      places.push({ holder, key });
      const inner = holder[key];
      if (typeof inner === 'object' && inner !== null) visit(inner as Record<string, unknown>);
    }
  };
  visit(root);
  const { holder, key } = places[where % places.length]!;
  const current = holder[key];
  if (how === 'replace') holder[key] = value;
  else if (how === 'remove') Reflect.deleteProperty(holder, key);
  else if (how === 'wrap') holder[key] = [current];
  else if (how === 'repeat' && Array.isArray(current))
    holder[key] = [...(current as unknown[]), ...(current as unknown[])];
  else if (typeof current === 'object' && current !== null && !Array.isArray(current))
    Object.defineProperty(current, FIELDS[where % FIELDS.length]!, {
      value,
      enumerable: true,
      writable: true,
      configurable: true,
    });
  else holder[key] = value;
  return root.body;
}
