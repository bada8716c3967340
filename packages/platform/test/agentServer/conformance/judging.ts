import assert from 'node:assert/strict';

/** Expects an answer that contains what is expected: objects by their expected fields, lists of the same length. */
export function has(actual: unknown, expected: unknown, path = 'it'): void {
  if (typeof expected === 'function') {
    assert.ok((expected as (value: unknown) => boolean)(actual), `${path}: ${JSON.stringify(actual)}`);
  } else if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), `${path} is no list: ${JSON.stringify(actual)}`);
    assert.equal(actual.length, expected.length, `${path} has another length: ${JSON.stringify(actual)}`);
    expected.forEach((each, index) => has(actual[index], each, `${path}[${index}]`));
  } else if (typeof expected === 'object' && expected !== null) {
    assert.ok(
      typeof actual === 'object' && actual !== null,
      `${path} is no object: ${JSON.stringify(actual)}`,
    );
    for (const [name, each] of Object.entries(expected))
      has((actual as Record<string, unknown>)[name], each, `${path}.${name}`);
  } else {
    assert.deepEqual(
      actual,
      expected,
      `${path}: ${JSON.stringify(actual)} is not ${JSON.stringify(expected)}`,
    );
  }
}

export const isText = (value: unknown): boolean => typeof value === 'string' && value !== '';
export const isUuid = (value: unknown): boolean =>
  typeof value === 'string' && /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/.test(value);
export const isEmptyObject = (value: unknown): boolean => JSON.stringify(value) === '{}';
/** ISO 8601 with an offset. */
export const isTimestamp = (value: unknown): boolean =>
  typeof value === 'string' &&
  /(Z|[+-]\d\d:\d\d)$/.test(value) &&
  Math.abs(Date.parse(value) - Date.now()) < 3_600_000;
