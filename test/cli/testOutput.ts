import { jsonLine, type Output } from '../../src/cli/output.ts';
import { styleOf } from '../../src/cli/ui/style.ts';
import { lineProblem } from '../support/jsonLines.ts';

/** An output that keeps what is said, for tests to look at. Throws at an event that does not fit the published schema. */
export function testOutput(
  options: {
    readonly json?: boolean;
    readonly verbose?: boolean;
    readonly quiet?: boolean;
  } = {},
): Output & {
  readonly said: string[];
  readonly noted: string[];
  readonly events: Record<string, unknown>[];
} {
  const said: string[] = [];
  const noted: string[] = [];
  const events: Record<string, unknown>[] = [];
  const json = options.json ?? false;
  const quiet = options.quiet ?? false;
  return {
    said,
    noted,
    events,
    json,
    verbose: options.verbose ?? false,
    style: styleOf(false),
    live: false,
    columns: () => 100,
    print: (line) => {
      if (!json) said.push(line);
    },
    note: (line) => {
      if (!json) noted.push(line);
    },
    info: (line) => {
      if (!json && !quiet) said.push(line);
    },
    progress: (line) => {
      if (!json && !quiet) noted.push(line);
    },
    event: (event) => {
      if (!json) return;
      const problem = lineProblem(JSON.parse(jsonLine(event)) as Readonly<Record<string, unknown>>);
      if (problem !== undefined) throw new Error(problem);
      events.push({ ...event });
    },
    raw: (text) => {
      said.push(text);
    },
  };
}
