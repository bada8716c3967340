import { pick } from '@slipway/contract/pick';
import type { z } from 'zod';

import { removeSecretsFromTexts } from '../../../clients/removeSecrets.ts';
import { createFeedbackClient } from '../../../clients/feedback.ts';
import { createRunApiClient, type RunApiClient } from '../../../clients/runApi.ts';
import { createAgent } from '../../../clients/service.ts';
import { present } from '../../../config/fields.ts';
import { Judge, judgeSettings } from '../../../config/judgeSchema.ts';
import { secretFor } from '../../../config/secretOrigins.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { JudgeReport } from '../../../domain/judge/report.ts';
import type { JudgeSettings } from '../../../domain/judge/settings.ts';
import type { JudgeVerdict } from '../../../domain/judge/verdict.ts';
import { recordedInputs, someInputs } from '../../../judge/inputs.ts';
import { freshSeed, judgeCandidate, type Progress } from '../../../judge/judgement.ts';
import { randomFrom, sample } from '../../../judge/random.ts';
import { markdownReport, type ReportLine, textReport } from '../../../judge/writtenReport.ts';
import type { CommandContext } from '../../context.ts';
import { LiveLines } from '../../ui/liveLines.ts';
import { interruptible } from '../../interruption.ts';
import { writeReport } from '../../namedFile.ts';
import { openInputs } from './inputsFile.ts';
import type { Output } from '../../output.ts';
import { makeHomeOf, ownArtifactStore } from '../artifact/artifactStoreOf.ts';
import { keyByReference } from '../check/checkedAddress.ts';

/** The options that are fields of `judge` in `slipway.yaml`, too. */
const FIELDS = [
  ...(['inputs', 'recorded', 'assistant', 'repetitions', 'concurrency', 'runTimeout'] as const),
  ...(['patience', 'confidence', 'minimumRuns', 'scorePath', 'feedbackKey'] as const),
] as const;

/** The options of `slipway judge`. Defaults: those of `judge` in `slipway.yaml`. */
export interface JudgeOptions extends Readonly<Pick<z.input<typeof Judge>, (typeof FIELDS)[number]>> {
  readonly baseline: string;
  readonly candidate: string;
  readonly maxInputs?: number;
  readonly warmUp?: number;
  /** `metric=effect`, each. */
  readonly metric?: readonly string[];
  readonly evaluator?: string;
  /** A reference: `env:NAME`, `file:/path`. */
  readonly evaluatorSecret?: string;
  readonly seed?: number;
  /** References to keys: `env:NAME`, `file:/path`. Without one, no key is sent. */
  readonly apiKey?: string;
  readonly candidateApiKey?: string;
  readonly markdown?: string;
}

/** The exit codes have the meaning of a release's, so that a pipeline can treat both alike. */
const EXIT_CODES: Readonly<Record<JudgeVerdict, number>> = {
  passed: 0,
  failed: 2,
  errored: 3,
  inconclusive: 4,
};

/**
 * `slipway judge`: gives two agents the same inputs and decides whether the candidate is worse. Needs neither Temporal
 * nor a control plane. The report is also kept in the default artifact store (`SLIPWAY_ARTIFACT_STORE`, else the
 * home's), as `judgements/…/report.json`.
 * @returns the exit code: 0 passed, 2 failed, 3 errored, 4 inconclusive.
 */
export async function runJudgeCommand(context: CommandContext, options: JudgeOptions): Promise<number> {
  const settings = readSettings(options);
  // Before the runs, which may take hours.
  await makeHomeOf(ownArtifactStore(context), context);
  if (options.markdown !== undefined) await writeReport('--markdown', options.markdown, '', 'a');
  const ofFile = options.inputs === undefined ? undefined : await openInputs(options.inputs);
  const keys = [options.apiKey, options.candidateApiKey ?? options.apiKey].map((key) =>
    key === undefined ? undefined : keyByReference(key, context.environment),
  );
  // Without it, no run would get a score.
  const { evaluator } = settings;
  if (evaluator?.secret !== undefined) secretFor(evaluator.secret, evaluator.url, context);
  const [baseline, candidate] = [
    agentClient(options.baseline, keys[0], settings, '--api-key'),
    agentClient(options.candidate, keys[1], settings, '--candidate-api-key'),
  ];
  const feedback = createFeedbackClient();
  const pool = createAgent();
  const live = new LiveLines(context.output);
  return interruptible(async (signal) => {
    try {
      const from = options.inputs ?? 'recorded runs';
      const inputs = ofFile ?? recordedInputs(baseline, settings.assistant, signal);
      const { inputsMax, seed } = settings;
      const chosen = someInputs(await sample(inputs, inputsMax, randomFrom(seed)), from);
      let progress: Progress | undefined;
      live.show(() => [
        progress === undefined ? 'warming up' : `judging: ${progress.made} of ${progress.planned} runs`,
      ]);
      const judged = await judgeCandidate({
        settings,
        inputs: { from, chosen },
        agents: {
          baseline: { url: options.baseline, client: baseline },
          candidate: { url: options.candidate, client: candidate },
        },
        feedback,
        evaluators: { pool, environment: context.environment },
        signal,
        onTrial: (_, now) => {
          progress = now;
        },
      });
      live.hide();
      // An agent's answer may contain its key.
      const report = removeSecretsFromTexts(
        judged,
        keys.filter((key) => key !== undefined),
      );
      printReport(context.output, report);
      if (options.markdown !== undefined) {
        await writeReport('--markdown', options.markdown, markdownReport(report));
      }
      await keep(context, report);
      return EXIT_CODES[report.verdict];
    } finally {
      live.hide();
      await Promise.all([baseline.close(), candidate.close(), feedback.close(), pool.close()]);
    }
  });
}

function readSettings(options: JudgeOptions): JudgeSettings {
  const { metric, maxInputs, warmUp } = options;
  const given = {
    ...pick(options, ...FIELDS),
    inputsMax: maxInputs,
    warmUpRuns: warmUp,
    evaluator: evaluatorOf(options),
    metrics: metric === undefined ? undefined : Object.fromEntries(metric.map(readMetric)),
  };
  const parsed = Judge.safeParse(present(given));
  if (parsed.success) return { ...judgeSettings(parsed.data), seed: options.seed ?? freshSeed() };
  const problems = parsed.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  const hint = 'slipway judge --help lists the options';
  throw new SlipwayError('SLIPWAY_USAGE', problems.join('; '), { hint });
}

/** @returns `undefined` without an address. A secret alone is a mistake, which the schema reports. */
function evaluatorOf({ evaluator: url, evaluatorSecret: from }: JudgeOptions): object | undefined {
  if (url === undefined && from === undefined) return undefined;
  return { name: 'evaluator', url, secret: from === undefined ? undefined : { from } };
}

function readMetric(text: string): [name: string, effect: number] {
  const [name = '', effect = ''] = text.split('=');
  return [name, effect.endsWith('%') ? Number(effect.slice(0, -1)) / 100 : Number(effect)];
}

function agentClient(
  baseUrl: string,
  apiKey: string | undefined,
  { concurrency }: JudgeSettings,
  option: string,
): RunApiClient {
  const unauthorizedHint = apiKey === undefined ? `name its key: ${option} env:NAME` : undefined;
  return createRunApiClient({ baseUrl, apiKey, connections: concurrency + 1, unauthorizedHint });
}

async function keep(context: CommandContext, report: JudgeReport): Promise<void> {
  const name = `judgements/${report.startedAt.replaceAll(/[:.]/g, '-')}-${report.seed}/report.json`;
  await ownArtifactStore(context).putRecord(name, report);
}

function printReport(output: Output, report: JudgeReport): void {
  output.event({ event: 'judged', report });
  output.event({ event: 'ended', exitCode: EXIT_CODES[report.verdict] });
  for (const line of textReport(report)) output.print(painted(output, report, line));
}

function painted({ style }: Output, { verdict }: JudgeReport, { text, about }: ReportLine): string {
  switch (about === 'verdict' ? verdict : about) {
    case 'passed':
      return style.good(text);
    case 'failed':
    case 'errored':
      return style.bad(text);
    case 'inconclusive':
      return style.warn(text);
    case 'faint':
      return style.faint(text);
    case 'plain':
      return text;
  }
}
