/**
 * The version of the schemas that every line printed with `--json` follows: its `schemaVersion`. docs/json.md says what
 * may change without a new one.
 */
export const SCHEMA_VERSION = 1;
