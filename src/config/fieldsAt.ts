/**
 * The fields that a JSON Schema names at a path: the words that somebody may have meant there. Knows the parts of
 * JSON Schema that the configuration's schema uses.
 */
export function fieldsAt(schema: unknown, path: readonly PropertyKey[]): readonly string[] {
  let current = schema;
  for (const key of path) {
    if (!isRecord(current)) return [];
    const properties = current['properties'];
    const next = isRecord(properties) ? properties[String(key)] : undefined;
    current = next ?? (typeof key === 'number' ? current['items'] : current['additionalProperties']);
  }
  if (!isRecord(current)) return [];
  const { properties, propertyNames } = current;
  if (isRecord(properties)) return Object.keys(properties);
  const names = isRecord(propertyNames) ? propertyNames['enum'] : undefined;
  return Array.isArray(names) ? names.map(String) : [];
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}
