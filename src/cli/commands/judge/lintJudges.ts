import { dirname } from 'node:path';

import type { ConfigProblem } from '../../../config/configPlace.ts';
import type { FieldProblem } from '../../../config/configProblem.ts';
import type { Config } from '../../../config/configSchema.ts';
import type { LintedConfig } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import { judgeInputs } from './inputsFile.ts';

/** Finds files of inputs that the judges of promotions and previews cannot use: the first wrong line of each. */
export async function lintJudges({
  file,
  config,
  place,
}: Pick<LintedConfig, 'file' | 'place'> & { readonly config: Config }): Promise<readonly ConfigProblem[]> {
  const problems: FieldProblem[] = [];
  const judged = [
    ...Object.entries(config.promotions).map(([name, { judge }]) => ({ part: 'promotions', name, judge })),
    ...Object.entries(config.previews).map(([name, { judge }]) => ({ part: 'previews', name, judge })),
  ];
  for (const { part, name, judge } of judged) {
    if (judge === undefined) continue;
    try {
      await judgeInputs(judge, dirname(file));
    } catch (error) {
      if (!(error instanceof SlipwayError)) throw error;
      const { code, message, place: line } = error;
      problems.push({ path: [part, name, 'judge', 'inputs'], code, message: `${line ?? ''}: ${message}` });
    }
  }
  return place(problems, []);
}
