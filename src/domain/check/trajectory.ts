import { canonicalJson } from '@slipway/contract/json';

import { isRecord, parsedJson, type WholeNumber } from '../scalars.ts';

/**
 * How tool calls are compared with the expected ones, as in the public `agentevals`: the same ones in the same order, but
 * those of one message in any; the same ones in any order; none but expected ones; all expected ones, perhaps among others.
 */
export const TOOL_MODES = ['strict', 'unordered', 'subset', 'superset'] as const;
export type ToolMode = (typeof TOOL_MODES)[number];

/** How a call's arguments are compared: equal; none but expected ones; all expected ones, perhaps among others. */
export const ARGS_MODES = ['exact', 'subset', 'superset'] as const;
export type ArgsMode = (typeof ARGS_MODES)[number];

/** One tool call that is expected. */
export interface ExpectedCall {
  readonly name: string;
  /** Absent: the arguments are not compared. */
  readonly args?: Readonly<Record<string, unknown>>;
}

/** The tool calls that are expected of a run. */
export interface ExpectedTools {
  /** Default: `strict`. */
  readonly mode?: ToolMode;
  /** How the arguments of calls that have some are compared. Default: `exact`. */
  readonly argsMode?: ArgsMode;
  readonly calls: readonly ExpectedCall[];
}

export interface ToolCall {
  readonly name: string;
  /** Not an object if the model did not write one. */
  readonly args: unknown;
  /** Which message made it, from 0. Calls of one message run at the same time. */
  readonly message: WholeNumber;
}

/** What an agent did since it was last spoken to, as its messages show it. */
export interface Trajectory {
  readonly calls: readonly ToolCall[];
  /** The tokens that its messages report, input and output together. `null`: none of them reports any. */
  readonly tokens: WholeNumber | null;
}

/** What the messages after the last one of a person show; `null` if the values have no `messages`. */
export function trajectoryOf(values: unknown): Trajectory | null {
  const messages = messagesOf(values);
  if (messages === null) return null;
  const own = messages.slice(messages.findLastIndex(isPersons) + 1).filter(isRecord);
  const counts = own.map(tokensOf).filter((count) => count !== undefined);
  return {
    calls: own.flatMap((message, index) => callsOf(message, index)),
    tokens: counts.length === 0 ? null : counts.reduce((sum, count) => sum + count, 0),
  };
}

/** Whether a run that resumed another shows the trajectory of both: its graph added no message of a person. */
export function showsBoth(resumed: unknown, values: unknown): boolean {
  const [before, after] = [resumed, values].map((one) => messagesOf(one)?.findLastIndex(isPersons));
  return before !== undefined && before === after;
}

function messagesOf(values: unknown): readonly unknown[] | null {
  const messages = isRecord(values) ? values['messages'] : undefined;
  return Array.isArray(messages) ? messages : null;
}

function isPersons(message: unknown): boolean {
  return isRecord(message) && (message['type'] === 'human' || message['role'] === 'user');
}

/** The calls of a message, in the form of LangChain or in that of OpenAI. */
function callsOf({ tool_calls: calls }: Readonly<Record<string, unknown>>, message: WholeNumber): ToolCall[] {
  if (!Array.isArray(calls)) return [];
  return calls.filter(isRecord).map((call) => {
    const called = isRecord(call['function']) ? call['function'] : call;
    const args: unknown = called['args'] ?? called['arguments'];
    const name = called['name'];
    return {
      name: typeof name === 'string' ? name : '',
      args: typeof args === 'string' ? (parsedJson(args) ?? args) : args,
      message,
    };
  });
}

function tokensOf({ usage_metadata: usage }: Readonly<Record<string, unknown>>): number | undefined {
  if (!isRecord(usage)) return undefined;
  const { total_tokens: total, input_tokens: input, output_tokens: output } = usage;
  if (typeof total === 'number') return total;
  if (typeof input !== 'number' && typeof output !== 'number') return undefined;
  return (typeof input === 'number' ? input : 0) + (typeof output === 'number' ? output : 0);
}

/** Why calls are not the expected ones, in words; `undefined` if they are. */
export function trajectoryProblem(expected: ExpectedTools, calls: readonly ToolCall[]): string | undefined {
  const { mode = 'strict', argsMode = 'exact' } = expected;
  const fits = (call: ToolCall, wanted: ExpectedCall): boolean =>
    call.name === wanted.name && (wanted.args === undefined || argsFit(call.args, wanted.args, argsMode));
  if (mode === 'strict') {
    const isSame =
      calls.length === expected.calls.length &&
      calls.every(({ message }, index) => {
        if (calls[index - 1]?.message === message) return true;
        const together = calls.filter((call) => call.message === message);
        const wanted = expected.calls.slice(index, index + together.length);
        return pairedCalls(together, wanted, fits).size === wanted.length;
      });
    return isSame ? undefined : `${callsText(calls)} instead of ${callsText(expected.calls)}`;
  }
  const pairs = pairedCalls(calls, expected.calls, fits);
  const missing = expected.calls.filter((_, index) => !pairs.has(index));
  const taken = new Set(pairs.values());
  const extra = calls.filter((_, index) => !taken.has(index));
  const problems = [
    ...(mode === 'subset' || missing.length === 0 ? [] : [`${callsText(missing)} is missing`]),
    ...(mode === 'superset' || extra.length === 0 ? [] : [`${callsText(extra)} was not expected`]),
  ];
  return problems.length === 0 ? undefined : `${problems.join(', and ')}: ${callsText(calls)}`;
}

/**
 * Pairs as many expected calls as possible with one call each, because a call may fit several: augmenting paths.
 * @returns the index of the call, by that of the expected one.
 */
function pairedCalls(
  calls: readonly ToolCall[],
  expected: readonly ExpectedCall[],
  fits: (call: ToolCall, wanted: ExpectedCall) => boolean,
): ReadonlyMap<number, number> {
  const pairOf = new Map<number, number>();
  const holderOf = new Map<number, number>();
  const find = (wanted: number, seen: Set<number>): boolean => {
    for (const [index, call] of calls.entries()) {
      if (seen.has(index) || !fits(call, expected[wanted] as ExpectedCall)) continue;
      seen.add(index);
      const holder = holderOf.get(index);
      if (holder !== undefined && !find(holder, seen)) continue;
      holderOf.set(index, wanted);
      pairOf.set(wanted, index);
      return true;
    }
    return false;
  };
  for (const wanted of expected.keys()) find(wanted, new Set());
  return pairOf;
}

function argsFit(args: unknown, wanted: Readonly<Record<string, unknown>>, mode: ArgsMode): boolean {
  // Some models write nothing if a tool takes no arguments.
  const given = args === undefined || args === null || args === '' ? {} : args;
  if (!isRecord(given)) return false;
  const within = (
    part: Readonly<Record<string, unknown>>,
    whole: Readonly<Record<string, unknown>>,
  ): boolean =>
    Object.entries(part).every(
      ([name, value]) => Object.hasOwn(whole, name) && canonicalJson(whole[name]) === canonicalJson(value),
    );
  const hasNoOthers = mode === 'superset' || within(given, wanted);
  return hasNoOthers && (mode === 'subset' || within(wanted, given));
}

/** Calls with their arguments. @param none - the text for no call. */
export function callsText(
  calls: readonly ExpectedCall[] | readonly ToolCall[],
  none = 'no tool call',
): string {
  if (calls.length === 0) return none;
  return calls
    .map(({ name, args }) => (args === undefined ? name : `${name}(${JSON.stringify(args)})`))
    .join(', ');
}
