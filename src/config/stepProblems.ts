import { formatDuration } from '../domain/duration.ts';

/** What may be wrong in a file: anything, until it has been read. */
interface LooseCheck {
  readonly name?: unknown;
  readonly timeout?: unknown;
}
type LooseSteps = Readonly<Record<string, unknown>>;

/** Steps that run one check in each attempt, and steps that run all of them. */
const ONE_CHECK = ['check', 'baseline'] as const;
const ALL_CHECKS = ['soak', 'bake'] as const;
const DEADLINES = ['startToClose', 'scheduleToClose'] as const;

/** Deadlines of steps that are shorter than the checks that run within them: those would never end in time. */
export function stepProblems(
  checks: unknown,
  steps: unknown,
): { readonly path: readonly string[]; readonly message: string }[] {
  const timed = (Array.isArray(checks) ? (checks as (LooseCheck | null)[]) : []).flatMap((check) =>
    typeof check?.timeout === 'number' ? [{ name: String(check.name), timeoutMs: check.timeout }] : [],
  );
  const longest = timed.reduce((one, other) => (other.timeoutMs > one.timeoutMs ? other : one), {
    name: '',
    timeoutMs: 0,
  });
  const together = timed.reduce((sum, { timeoutMs }) => sum + timeoutMs, 0);
  return [
    ...shorterThan(steps, ONE_CHECK, longest.timeoutMs, `the check "${longest.name}" may take`),
    ...shorterThan(steps, ALL_CHECKS, together, 'its checks together may take'),
  ];
}

function shorterThan(
  steps: unknown,
  names: readonly string[],
  checksMs: number,
  whatTakes: string,
): { readonly path: readonly string[]; readonly message: string }[] {
  if (typeof steps !== 'object' || steps === null) return [];
  return names.flatMap((name) => {
    const step = (steps as LooseSteps)[name];
    if (typeof step !== 'object' || step === null) return [];
    return DEADLINES.flatMap((deadline) => {
      const set = (step as LooseSteps)[deadline];
      if (typeof set !== 'number' || set > checksMs) return [];
      const message = `expected more than the ${formatDuration(checksMs)} that ${whatTakes}`;
      return [{ path: ['steps', name, deadline], message }];
    });
  });
}
