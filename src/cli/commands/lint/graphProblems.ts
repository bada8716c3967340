import { readFile } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';

import { pythonGraphOf, pythonGraphText } from '@slipway/contract/pythonAgent';

import { meantWord } from '../../../config/nearestWord.ts';
import type { ConfigProblem } from '../../../config/configPlace.ts';
import type { FieldProblem } from '../../../config/configProblem.ts';
import type { Config } from '../../../config/configSchema.ts';
import type { Project } from '../../../config/loadConfig.ts';
import { requireFile } from '../../../config/requireFile.ts';
import { releaseSettings } from '../../../config/releaseSettings.ts';
import { isRecord, parsedJson } from '../../../domain/scalars.ts';
import { declaredJudges } from '../judge/declaredJudges.ts';

/**
 * A warning for each target's graph configuration of a Python agent. It is no error, because another control plane may
 * build Python agents.
 */
export async function pythonAgentProblems(project: Project): Promise<readonly ConfigProblem[]> {
  const problems: ConfigProblem[] = [];
  for (const { file, text } of await graphConfigs(project, Object.keys(project.config.targets))) {
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

/** The checks and judges that ask a graph which the graph configuration of one of the targets lacks. */
export async function missingGraphs(
  project: Project,
  targets: readonly string[],
): Promise<readonly FieldProblem[]> {
  const problems: FieldProblem[] = [];
  for (const { file, text } of await graphConfigs(project, targets)) {
    const json = parsedJson(text);
    if (!isRecord(json) || !isRecord(json['graphs'])) continue;
    const graphs = Object.keys(json['graphs']);
    for (const { path, assistant } of askedGraphs(project.config)) {
      if (graphs.includes(assistant) || ASSISTANT_ID.test(assistant)) continue;
      const message = `${basename(file)} has no graph "${assistant}"; ${meantWord(assistant, graphs)}`;
      problems.push({ path, message });
    }
  }
  return problems;
}

const ASSISTANT_ID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

function askedGraphs(config: Config) {
  const ofJudges = declaredJudges(config).map(({ path, judge: { assistant } }) => ({ path, assistant }));
  const ofChecks = config.checks.map(({ assistant }, index) => ({ path: ['checks', index], assistant }));
  return [...ofChecks, ...ofJudges].map(({ path, assistant }) => ({
    path: [...path, 'assistant'],
    assistant,
  }));
}

/** The graph configurations in the targets' source. A missing file is left out: a build step may create it. */
async function graphConfigs(
  { config, folder }: Project,
  targets: readonly string[],
): Promise<readonly { readonly file: string; readonly text: string }[]> {
  const paths = new Set(targets.map((name) => releaseSettings(config, name).graphConfigPath));
  const root = resolve(folder, config.artifact.path);
  const found = [...paths].map(async (path) => {
    if (path === null) return [];
    const file = join(root, path);
    const read = () => readFile(file, 'utf8');
    const text = await requireFile(file)
      .then(read)
      .catch(() => undefined);
    return text === undefined ? [] : [{ file, text }];
  });
  return (await Promise.all(found)).flat();
}
