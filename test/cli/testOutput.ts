import { createOutput, type Output } from '../../src/cli/output.ts';
import { lineProblem } from '../support/jsonLines.ts';

/** An output that records its text for tests. Throws for an event that does not match the published schema. */
export function testOutput({ json = false, verbose = false, quiet = false } = {}): Output & {
  readonly said: string[];
  readonly noted: string[];
  readonly events: Record<string, unknown>[];
} {
  const said: string[] = [];
  const noted: string[] = [];
  const events: Record<string, unknown>[] = [];
  const keep = (text: string): boolean => {
    if (!json) return said.push(text.replace(/\n$/, '')) > 0;
    const { schemaVersion, ...event } = JSON.parse(text) as Record<string, unknown>;
    const problem = lineProblem({ schemaVersion, ...event });
    if (problem !== undefined) throw new Error(problem);
    return events.push(event) > 0;
  };
  const note = (text: string): boolean => noted.push(text.replace(/\n$/, '')) > 0;
  const stdout = { isTTY: false, columns: 0, write: keep };
  const stderr = { isTTY: false, write: note };
  return { ...createOutput({ json, verbose, quiet, environment: {}, stdout, stderr }), said, noted, events };
}
