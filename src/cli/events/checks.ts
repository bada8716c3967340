import type { Violation } from '../../domain/audit/facts.ts';
import type { RowResult } from '../../domain/check/dataset.ts';
import type { ErrorCode } from '../../domain/errors.ts';
import type { JudgeReport } from '../../domain/judge/report.ts';
import type { OverduePreview, UnheldPreview } from '../../domain/preview/preview.ts';
import type { CheckVerdict } from '../../domain/release/release.ts';
import type { ExitCode, WholeNumber } from '../../domain/scalars.ts';

/** The events of commands that check something, and of the demo. */
export interface CheckSections {
  /**
   * `audit`
   *
   * Then `ended`, as below, with the exit code 0, or 3 if a rule was broken, or a preview is not held or overdue.
   */
  readonly audit: {
    /** One for each rule that was broken. */
    readonly violation: Violation & { readonly target: string };
    /** One for each target that could be checked. */
    readonly audited: {
      readonly target: string;
      /** How many releases and rollbacks were checked. */
      readonly works: WholeNumber;
      /** `null`: the control plane was not asked. */
      readonly revisions: WholeNumber | null;
      readonly violations: WholeNumber;
    };
    /** One for each target whose histories this process cannot decrypt. If no rule was broken, an `error` follows. */
    readonly unaudited: {
      readonly target: string;
      /** `SLIPWAY_PAYLOAD_KEY_MISSING` or `SLIPWAY_PAYLOAD_UNREADABLE`. */
      readonly code: string;
      readonly message: string;
    };
    /** Without a target: one for each deployment of a preview that no workflow holds. Nothing removes it. */
    readonly unheld_preview: UnheldPreview;
    /** Without a target: one for each preview that was not removed within 75 minutes after its deadline. */
    readonly overdue_preview: OverduePreview;
  };

  /**
   * `judge`
   *
   * Then `ended`, as below, with the exit code 0 (passed), 2 (failed), 3 (errored) or 4 (inconclusive).
   */
  readonly judge: {
    /** The judge has reached a verdict, or could not do its work. */
    readonly judged: { readonly report: JudgeReport };
  };

  /**
   * `check`
   *
   * Then `ended`, as below, with the exit code 0 (all passed) or 2 (one failed). If none failed but one could not be
   * carried out, it is that of its error.
   */
  readonly check: {
    /** One for each check, as soon as it is decided. */
    readonly checked: CheckResult;
  };

  /** `doctor` */
  readonly doctor: {
    /** One for each thing that `doctor` looked at. */
    readonly finding: Finding;
    /** The last one of `audit`, `judge`, `check` and `doctor`. */
    readonly ended: { readonly exitCode: ExitCode };
  };

  /**
   * `demo`
   *
   * The events of its two releases come between these. After Ctrl-C it ends with `stopped`.
   */
  readonly demo: {
    /** A part begins. */
    readonly part: { readonly title: string; readonly elapsedMs: WholeNumber };
    /** The agent answered a question. */
    readonly answer: {
      readonly revisionId: string;
      readonly agentUrl: string;
      readonly question: string;
      readonly answer: string;
    };
    /** The last one. */
    readonly ended: {
      readonly outcome: 'released';
      /** The revision that was released. */
      readonly released: string | null;
      /** The revision whose check failed. */
      readonly failed: string | null;
      /** The revision that serves again. */
      readonly restored: string;
      readonly answer: string;
      /** The page's address. With `--keep` it stays open until Ctrl-C. */
      readonly dashboard: string;
      readonly elapsedMs: WholeNumber;
      readonly exitCode: ExitCode;
    };
  };
}

/** How one check of `slipway check` went. */
export interface CheckResult extends Pick<
  CheckVerdict,
  'check' | 'passed' | 'reasons' | 'answer' | 'runId' | 'latencyMs' | 'repetitions' | 'scores' | 'dataset'
> {
  /** Of a dataset: the rows that failed, the first 100. Absent: none. */
  readonly failedRows?: readonly Pick<RowResult, 'id' | 'line' | 'reasons' | 'answer' | 'runId'>[];
  /** Why it could not be carried out: then it neither passed nor failed. `null`: it was. */
  readonly error: { readonly code: ErrorCode; readonly message: string } | null;
}

/** What `doctor` looked at. */
export interface Finding {
  /** What it looked at: `node`, `temporal`, `target production`. */
  readonly name: string;
  /** `warning`: it may be right, but not where this command looks. */
  readonly state: 'ok' | 'warning' | 'missing';
  readonly detail: string;
  /** The command or the setting that fixes it. */
  readonly fix: string | null;
  /** What the command ends with because of it. 0 unless `missing`. */
  readonly exitCode: ExitCode;
}
