import { GraphConfig } from '@slipway/contract/graphConfig';
import { toValidationIssues, type ValidationIssue } from '@slipway/contract/httpErrors';
import { pythonGraphOf, pythonGraphText } from '@slipway/contract/pythonAgent';

const NAMED_ISSUES = 5;

/**
 * Parses a graph configuration, in a build and at an agent's start. `name` is the file's name for errors.
 * @throws Error whose message is one line: a sentence without its period.
 */
export function parseGraphConfig(name: string, text: string): GraphConfig {
  const plain = text.replace(/^\uFEFF/u, '');
  let json: unknown;
  try {
    json = JSON.parse(plain);
  } catch (error) {
    const reason = plain.includes('\uFFFD')
      ? 'it is not text in UTF-8'
      : withLineAndColumn(error as SyntaxError, plain).replaceAll(/\s*\n\s*/g, ' ');
    throw new Error(`${name} is not valid JSON: ${reason}`, { cause: error });
  }
  const python = pythonGraphOf(json);
  if (python !== undefined) throw new Error(`${name}: ${pythonGraphText(python)}`);
  const parsed = GraphConfig.safeParse(json);
  if (parsed.success) return parsed.data;
  throw new Error(`${name} is invalid: ${describeIssues(toValidationIssues(parsed.error, 'body'))}`);
}

function describeIssues(issues: readonly ValidationIssue[]): string {
  const named = issues
    .slice(0, NAMED_ISSUES)
    .map(({ loc: [, ...path], msg }) => (path.length === 0 ? msg : `${path.join('.')}: ${msg}`));
  const more = issues.length > NAMED_ISSUES ? [`and ${String(issues.length - NAMED_ISSUES)} more`] : [];
  return [...named, ...more].join('; ');
}

/** Node reports a character offset; people need line and column. */
function withLineAndColumn(error: SyntaxError, text: string): string {
  const position = /at position (\d+)/.exec(error.message)?.[1];
  if (position === undefined || error.message.includes('line ')) return error.message;
  const before = text.slice(0, Number(position)).split('\n');
  const column = (before.at(-1) ?? '').length + 1;
  return error.message.replace(
    /at position \d+/,
    `at line ${String(before.length)}, column ${String(column)}`,
  );
}

/** The files that a graph's file may mean: `./agent.js` may stand for a source `./agent.ts`, as in TypeScript's imports. */
export function filesMeantBy(file: string): readonly string[] {
  return [file, file.replace(/(?<=\.m?)js$/, 'ts')];
}

/**
 * Whether the `running` Node version is new enough for a graph configuration's `node_version`: `20` requires Node 20
 * or newer, `20.11` requires 20.11 or newer. A platform has one Node, so an agent cannot require an exact version.
 * Without `node_version`, any version is new enough.
 */
export function satisfiesNodeVersion(required: string | undefined, running: string): boolean {
  const minimum = (required ?? '').split('.').map(Number);
  const actual = running.split('.').map(Number);
  const difference = minimum.map((part, i) => (actual[i] ?? 0) - part).find((each) => each !== 0);
  return (difference ?? 0) >= 0;
}
