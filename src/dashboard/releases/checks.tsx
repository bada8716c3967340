import type { Check, Turn } from '../../domain/check/check.ts';
import { datasetText } from '../../domain/check/dataset.ts';
import { scoresText } from '../../domain/check/evaluator.ts';
import type { Expectation } from '../../domain/check/expectation.ts';
import { repetitionsText } from '../../domain/check/repetition.ts';
import { callsText } from '../../domain/check/trajectory.ts';
import { formatDuration } from '../../domain/duration.ts';
import type { CheckVerdict } from '../../domain/release/release.ts';
import { isRecord } from '../../domain/scalars.ts';
import { Chip, RevisionId } from '../page/marks.tsx';

interface ChecksProps {
  readonly verdicts: readonly CheckVerdict[];
  readonly checks: readonly Check[];
  /** Complete answers, by the names of their records. */
  readonly answers: ReadonlyMap<string, string>;
}

export function Checks({ verdicts, checks, answers }: ChecksProps) {
  if (verdicts.length === 0) return null;
  return (
    <section>
      <h2>Checks</h2>
      <div class="checks">
        {verdicts.map((verdict, index) => (
          <Verdict
            verdict={verdict}
            id={`check-${index}`}
            asked={checks.find(({ name }) => name === verdict.check)}
            answer={answers.get(verdict.answerRecord ?? '') ?? verdict.answer}
          />
        ))}
      </div>
    </section>
  );
}

interface VerdictProps {
  readonly verdict: CheckVerdict;
  readonly id: string;
  /** Absent: the check is not known. */
  readonly asked: Check | undefined;
  readonly answer: string;
}

function Verdict({ verdict, id, asked, answer }: VerdictProps) {
  const { check, passed, revisionId, latencyMs, repetitions, dataset, reasons, scores, runId } = verdict;
  const questions = asked === undefined || asked.dataset !== undefined ? [] : (asked.turns ?? [asked]);
  return (
    <article class={passed ? 'check' : 'check failed'} aria-labelledby={id}>
      <header>
        <h3 id={id}>{check}</h3>
        <Chip tone={passed ? 'good' : 'warn'}>{passed ? 'passed' : 'failed'}</Chip>
        <span class="quiet small">
          {'on revision '}
          <RevisionId id={revisionId} />
          {`, ${formatDuration(latencyMs)}`}
          {repetitions && `, ${repetitionsText(repetitions)}`}
          {passed && dataset && `, ${datasetText(dataset)}`}
        </span>
      </header>
      {reasons.map((reason) => (
        <p class="reason">{reason}</p>
      ))}
      <dl class="qa">
        {questions.map((turn) => (
          <Question turn={turn} />
        ))}
        <dt>Answer</dt>
        <dd>{answer === '' ? <em>nothing</em> : <pre tabindex={0}>{answer}</pre>}</dd>
        {scores && <Scores scores={scores} />}
        {runId && (
          <>
            <dt>Run</dt>
            <dd>
              <code>{runId}</code>
            </dd>
          </>
        )}
      </dl>
    </article>
  );
}

function Scores({ scores }: { readonly scores: NonNullable<CheckVerdict['scores']> }) {
  return (
    <>
      <dt>Scored</dt>
      <dd>{scoresText(scores)}</dd>
      {scores.map(
        ({ evaluator, comment }) =>
          comment !== null && (
            <>
              <dt>{`${evaluator} says`}</dt>
              <dd>{comment}</dd>
            </>
          ),
      )}
    </>
  );
}

function Question({ turn }: { readonly turn: Turn }) {
  return (
    <>
      <dt>{turn.input === undefined ? 'Resumed with' : 'Question'}</dt>
      <dd>
        <pre tabindex={0}>{turn.input === undefined ? JSON.stringify(turn.resume) : shown(turn.input)}</pre>
      </dd>
      <dt>Expected</dt>
      <dd>{expectationText(turn.expect)}</dd>
    </>
  );
}

/** A question that is a single text, unchanged; any other as JSON. */
function shown(input: Check['input']): string {
  const { messages } = input as { readonly messages?: unknown };
  const only: unknown = Array.isArray(messages) && messages.length === 1 ? messages[0] : undefined;
  const content = isRecord(only) ? only['content'] : undefined;
  return typeof content === 'string' ? content : JSON.stringify(input, null, 2);
}

function expectationText(expect: Expectation): string {
  return parts({ ...expect, status: expect.status ?? 'success' }).join('; ');
}

function parts(expect: Expectation): readonly string[] {
  const { status, contains, matches, path, equals, jsonSchema, number, tools, not, anyOf } = expect;
  const { allOf = [], reference } = expect;
  const { maxToolCalls, maxTokens, maxLatencyMs } = expect;
  const what = path === undefined ? 'the answer' : `“${path}”`;
  // A part without a path has that of the expectation around it.
  const of = (part: Expectation): readonly string[] => parts(path === undefined ? part : { path, ...part });
  return [
    ...(status === undefined ? [] : [`the run ends in ${status}`]),
    ...(contains === undefined ? [] : [`${what} contains “${contains}”`]),
    ...(matches === undefined ? [] : [`${what} matches /${matches}/`]),
    ...(equals === undefined ? [] : [`${what} equals ${JSON.stringify(equals)}`]),
    ...(jsonSchema === undefined ? [] : [`${what} fits the JSON Schema ${JSON.stringify(jsonSchema)}`]),
    ...(number === undefined ? [] : [`${what} is ${numberText(number)}`]),
    ...(tools === undefined
      ? []
      : [`tool calls (${tools.mode ?? 'strict'}): ${callsText(tools.calls, 'none')}`]),
    ...(maxToolCalls === undefined ? [] : [`at most ${maxToolCalls} tool calls`]),
    ...(maxTokens === undefined ? [] : [`at most ${maxTokens} tokens`]),
    ...(maxLatencyMs === undefined ? [] : [`within ${formatDuration(maxLatencyMs)}`]),
    ...(not === undefined ? [] : [`not (${of(not).join('; ')})`]),
    ...(anyOf === undefined ? [] : [anyOf.map((part) => `(${of(part).join('; ')})`).join(' or ')]),
    ...(reference === undefined ? [] : [`${what} ${reference} the row’s reference`]),
    ...allOf.flatMap(of),
  ];
}

function numberText({ equals, tolerance, min, max }: NonNullable<Expectation['number']>): string {
  return [
    ...(equals === undefined ? [] : [tolerance === undefined ? `${equals}` : `${equals} ± ${tolerance}`]),
    ...(min === undefined ? [] : [`at least ${min}`]),
    ...(max === undefined ? [] : [`at most ${max}`]),
  ].join(', ');
}
