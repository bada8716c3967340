import { dirname } from 'node:path';

import { ConfigError } from '../../../config/configError.ts';
import type { ConfigProblem } from '../../../config/configPlace.ts';
import { lintConfig, type LintedConfig } from '../../../config/loadConfig.ts';
import { ciLog, reportErrorInCi } from '../../ci/reportInCi.ts';
import type { CommandContext } from '../../context.ts';
import type { LintedDatasets } from '../../datasets/lintDatasets.ts';
import { counted } from '../../ui/text.ts';
import { declaredJudges } from '../judge/declaredJudges.ts';
import { missingGraphs, pythonAgentProblems } from './graphProblems.ts';
import { nearName, printProblems } from './problemLines.ts';

/**
 * `slipway lint [FILE]`: prints every error in `slipway.yaml`, its datasets and its judges' inputs, and settings that have no effect. Changes
 * nothing, and fetches nothing.
 * @returns the exit code: 0 if there is no error, else 1.
 */
export async function runLintCommand(
  context: CommandContext,
  path: string | undefined,
  { strict = false }: { readonly strict?: boolean },
): Promise<number> {
  const { output } = context;
  const { file, config, problems: found, place } = await lintConfig(path, process.cwd(), 'slipway lint FILE');
  const project = config && { config, folder: dirname(file) };
  const missing =
    project === undefined ? [] : await missingGraphs(project, Object.keys(project.config.targets));
  const ofFile = [...found, ...place([], missing)];
  const strictly = strict ? ofFile.map((problem) => ({ ...problem, severity: 'error' as const })) : ofFile;
  const ofAgent = project === undefined ? [] : await pythonAgentProblems(project);
  const { problems: ofDatasets, notRead } = await datasetsOf(context, { file, config, place });
  const ofJudges = await judgesOf({ file, config, place });
  // These warnings depend on where the command runs, so `--strict` does not change them: another control plane may build the
  // agent, and the artifact store may be out of reach here.
  const problems = [...strictly, ...ofAgent, ...ofDatasets, ...ofJudges];
  printProblems(output, problems, 'print');
  for (const check of notRead) {
    output.note(
      `The dataset of check "${check}" was not read: only its URL has it. "slipway plan" fetches it.`,
    );
  }
  const errors = problems.filter(({ severity }) => severity === 'error').length;
  const warnings = problems.length - errors;
  const exitCode = errors === 0 ? 0 : 1;
  const problemsOfFile = new ConfigError(file, problems);
  if (exitCode === 0) ciLog(context).annotateError(problemsOfFile);
  else await reportErrorInCi(context, problemsOfFile);
  output.event({ event: 'linted', file, errors, warnings, exitCode });
  const mark = output.style.mark(exitCode === 0);
  output.print(`${mark} ${nearName(file)}: ${counted(errors, 'error')}, ${counted(warnings, 'warning')}`);
  return exitCode;
}

async function datasetsOf(
  context: CommandContext,
  { config, ...linted }: Pick<LintedConfig, 'file' | 'config' | 'place'>,
): Promise<LintedDatasets> {
  if (config?.checks.some(({ dataset }) => dataset !== undefined) !== true) {
    return { problems: [], notRead: [] };
  }
  // Loaded only if there is a dataset, because it loads the artifact store.
  const { lintDatasets } = await import('../../datasets/lintDatasets.ts');
  return lintDatasets(context, { ...linted, config });
}

async function judgesOf({
  config,
  ...linted
}: Pick<LintedConfig, 'file' | 'config' | 'place'>): Promise<readonly ConfigProblem[]> {
  if (config === undefined || declaredJudges(config).length === 0) return [];
  // Loaded only if there is a judge, because it loads the artifact store.
  const { lintJudges } = await import('../judge/inputsFile.ts');
  return lintJudges({ ...linted, config });
}
