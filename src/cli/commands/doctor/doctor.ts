import type { CommandContext } from '../../context.ts';
import type { Finding } from '../../events/checks.ts';
import { MARKS, type Style } from '../../ui/text.ts';
import { findings } from './findings.ts';

/**
 * `slipway doctor`: what is missing for a release on this machine, and the command that fixes it. `--fix` registers
 * what is missing in Temporal, and terminates workflows that no worker can continue.
 * @returns the exit code: 0; 1 if something must be fixed here; 3 if a workflow is stuck; 6 if something does not answer.
 */
export async function runDoctorCommand(
  context: CommandContext,
  options: { readonly config?: string; readonly fix?: boolean },
): Promise<number> {
  const { output } = context;
  const codes: number[] = [];
  for await (const finding of findings(context, { fix: options.fix ?? false, config: options.config })) {
    output.event({ event: 'finding', ...finding });
    for (const line of findingLines(finding, output.style)) output.print(line);
    if (finding.exitCode !== 0) codes.push(finding.exitCode);
  }
  const exitCode = codes.length === 0 ? 0 : Math.min(...codes);
  output.event({ event: 'ended', exitCode });
  return exitCode;
}

const NAME_WIDTH = 20;

export function findingLines({ name, state, detail, fix }: Finding, style: Style): readonly string[] {
  const marks = {
    ok: style.good(MARKS.done),
    warning: style.warn(MARKS.warning),
    missing: style.bad(MARKS.failed),
  };
  const line = `${marks[state]} ${name.padEnd(NAME_WIDTH)} ${detail}`;
  return fix === null ? [line] : [line, `  ${''.padEnd(NAME_WIDTH)} ${style.faint('→')} ${fix}`];
}
