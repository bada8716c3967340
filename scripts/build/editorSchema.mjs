// docs/slipway.schema.json: the JSON Schema of one file, for editors. A file that extends others has no required fields.

/** The schema, from that of a whole `slipway.yaml` (`configJsonSchema`). */
export function editorSchema({ $schema, title, description, definitions = {}, ...whole }) {
  const parts = Object.fromEntries(
    Object.entries(definitions).map(([name, definition]) => [partName(name), withoutRequired(definition)]),
  );
  return {
    $schema,
    title,
    description,
    definitions: { whole, part: withoutRequired(whole), ...definitions, ...parts },
    if: { type: 'object', required: ['extends'] },
    then: { $ref: '#/definitions/part' },
    else: { $ref: '#/definitions/whole' },
  };
}

function partName(name) {
  return `part-${name}`;
}

function withoutRequired(schema) {
  if (Array.isArray(schema)) return schema.map(withoutRequired);
  if (typeof schema !== 'object' || schema === null) return schema;
  const kept = Object.entries(schema).filter(([name, value]) => name !== 'required' || !Array.isArray(value));
  return Object.fromEntries(
    kept.map(([name, value]) => [
      name,
      name === '$ref' && typeof value === 'string'
        ? value.replace(/[^/]+$/u, partName)
        : withoutRequired(value),
    ]),
  );
}
