import { dirname } from 'node:path';

import { ConfigError } from '../../../config/configError.ts';
import { lintConfig } from '../../../config/loadConfig.ts';
import { ciLog } from '../../ci/ciLog.ts';
import { reportErrorInCi } from '../../ci/reportInCi.ts';
import type { CommandContext } from '../../context.ts';
import { counted } from '../../ui/text.ts';
import { MARKS } from '../../ui/style.ts';
import { nearName, printProblems } from './problemLines.ts';
import { pythonAgentProblems } from './pythonAgent.ts';

/** The options of `slipway lint [FILE]`. */
interface LintOptions {
  /** Warnings are errors. */
  readonly strict?: boolean;
}

/**
 * `slipway lint [FILE]`: prints every error in `slipway.yaml`, and settings that have no effect. Changes nothing.
 *
 * @returns the exit code: 0 if there is no error, else 1.
 * @throws SlipwayError SLIPWAY_CONFIG_NOT_FOUND.
 */
export async function runLintCommand(
  context: CommandContext,
  path: string | undefined,
  { strict = false }: LintOptions,
): Promise<number> {
  const { output } = context;
  const { file, config, problems: found } = await lintConfig(path);
  const strictly = strict ? found.map((problem) => ({ ...problem, severity: 'error' as const })) : found;
  const ofAgent = config === undefined ? [] : await pythonAgentProblems({ config, folder: dirname(file) });
  // The agent's language stays a warning even with `--strict`: its control plane may support it.
  const problems = [...strictly, ...ofAgent];
  printProblems(output, problems, 'print');
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const warnings = problems.length - errors;
  const exitCode = errors === 0 ? 0 : 1;
  const problemsOfFile = new ConfigError(file, problems);
  if (exitCode === 0) ciLog(context).annotateError(problemsOfFile);
  else await reportErrorInCi(context, problemsOfFile);
  output.event({ event: 'linted', file, errors, warnings, exitCode });
  const { style } = output;
  const mark = exitCode === 0 ? style.good(MARKS.done) : style.bad(MARKS.failed);
  output.print(`${mark} ${nearName(file)}: ${counted(errors, 'error')}, ${counted(warnings, 'warning')}`);
  return exitCode;
}
