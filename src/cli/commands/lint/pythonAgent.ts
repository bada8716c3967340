import { readFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';

import { pythonGraphOf, pythonGraphText } from '@slipway/contract/pythonAgent';

import type { ConfigProblem } from '../../../config/configPlace.ts';
import type { Project } from '../../../config/loadConfig.ts';
import { parsedJson } from '../../../domain/scalars.ts';
import { releaseSettings } from '../../../config/releaseSettings.ts';

/**
 * A warning for each target's graph configuration of a Python agent. It is no error, because another control plane may
 * build Python agents. A missing file is ignored: a build step may create it.
 */
export async function pythonAgentProblems({ config, folder }: Project): Promise<readonly ConfigProblem[]> {
  const paths = Object.keys(config.targets).map((name) => releaseSettings(config, name).graphConfigPath);
  const root = resolve(folder, config.artifact.path);
  const problems: ConfigProblem[] = [];
  for (const path of new Set(paths.filter((each) => each !== null))) {
    const file = join(root, path);
    const text = await readFile(file, 'utf8').catch(() => '{}');
    const graph = pythonGraphOf(parsedJson(text));
    if (graph === undefined) continue;
    const lines = text.split('\n');
    const line = Math.max(
      0,
      lines.findIndex((each) => each.includes(graph.path)),
    );
    const excerpt = lines[line] ?? '';
    problems.push({
      file,
      severity: 'warning',
      line: line + 1,
      column: Math.max(0, excerpt.indexOf(graph.path)) + 1,
      length: graph.path.length,
      path: `graphs.${graph.name}`,
      message: `${pythonGraphText(graph)}; release it to a control plane that builds Python agents`,
      excerpt,
    });
  }
  return problems;
}
