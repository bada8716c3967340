/** A graph's value that cannot be sent or stored as JSON. The run that produced it ends with this error's name. */
export class UnserializableValue extends Error {
  constructor(path: string, what: string) {
    super(`${path} is ${what}, which cannot be written as JSON.`);
    this.name = 'UnserializableValue';
  }
}

/**
 * A graph's output as JSON. Messages become plain objects with their `type`, as the public clients expect; errors
 * become `{error, message}`.
 *
 * `strict` is for what a graph stores: functions, symbols, big integers and cycles throw. Without it (`debug` and
 * `events`, which carry any object of the runtime) they are omitted or named.
 * @throws UnserializableValue naming the path of the value, only if `strict`.
 */
export function toWireJson(value: unknown, options: { strict: boolean; root: string }): string {
  return JSON.stringify(toPlain(value, options.root, options.strict, []) ?? null);
}

function toPlain(value: unknown, path: string, strict: boolean, above: readonly object[]): unknown {
  switch (typeof value) {
    case 'function':
    case 'symbol':
      if (strict) throw new UnserializableValue(path, `a ${typeof value}`);
      return undefined;
    case 'bigint':
      if (strict) throw new UnserializableValue(path, 'a big integer');
      return value.toString();
    case 'object':
      return value === null ? null : toPlainObject(value, path, strict, above);
    default:
      return value;
  }
}

function toPlainObject(value: object, path: string, strict: boolean, above: readonly object[]): unknown {
  if (above.includes(value)) {
    if (strict) throw new UnserializableValue(path, 'a reference to an object that contains it');
    return '[Circular]';
  }
  const inside = [...above, value];
  if (Array.isArray(value)) {
    return value.map((item: unknown, index) => toPlain(item, `${path}[${index}]`, strict, inside) ?? null);
  }
  if (value instanceof Error) return { error: value.name, message: value.message };
  if (value instanceof Map) return toPlain(Object.fromEntries(value), path, strict, inside);
  if (value instanceof Set) return toPlain([...(value as Set<unknown>)], path, strict, inside);
  if (hasMethod(value, 'toDict')) {
    const { type, data } = value.toDict() as { type: string; data: Record<string, unknown> };
    return { ...(toPlain(data, path, strict, inside) as Record<string, unknown>), type };
  }
  if (hasMethod(value, 'toJSON')) return toPlain(value.toJSON(), path, strict, inside);
  const plain: Record<string, unknown> = {};
  for (const [name, item] of Object.entries(value)) {
    const written = toPlain(item, `${path}.${name}`, strict, inside);
    if (written !== undefined) plain[name] = written;
  }
  return plain;
}

function hasMethod<Name extends string>(value: object, name: Name): value is Record<Name, () => unknown> {
  return name in value && typeof (value as Record<string, unknown>)[name] === 'function';
}
