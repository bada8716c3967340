import type { ConfigProblem } from '../../config/configPlace.ts';
import type { RecordedRelease } from '../../domain/artifact/retention.ts';
import type { ExitCode, Instant, WholeNumber } from '../../domain/scalars.ts';

/** The events of commands that work with the source, `slipway.yaml` and artifacts. */
export interface SourceSections {
  /** `completion` */
  readonly completion: {
    /** `completion bash`, `zsh`, `fish` */
    readonly completion: { readonly shell: 'bash' | 'zsh' | 'fish'; readonly script: string };
    /** `completion words`, which the script calls. */
    readonly offers: {
      /** What the last word can be. `:files` and `:folders`: the shell completes it. */
      readonly offers: readonly { readonly word: string; readonly description?: string }[];
    };
  };

  /** `init` */
  readonly init: {
    /** One for each file. */
    readonly written: { readonly file: string };
  };

  /**
   * `lint`
   *
   * Any other command that finds `slipway.yaml` invalid prints the same `problem`s before its `error`. `release` and `init`
   * print the warnings too, and continue.
   */
  readonly lint: {
    /** Something is invalid, or has no effect: in the order of the file, then the rows of datasets. */
    readonly problem: ConfigProblem;
    /** The last one. */
    readonly linted: {
      readonly file: string;
      readonly errors: WholeNumber;
      readonly warnings: WholeNumber;
      readonly exitCode: ExitCode;
    };
  };

  /**
   * `pack`
   *
   * As with `release`, a `suspected_secret` for each place comes before `packed`.
   */
  readonly pack: {
    /** `--list`: one for each file and link, in their order. */
    readonly entry: { readonly path: string };
    /** The source is packed. */
    readonly packed: {
      /** The artifact's digest. */
      readonly artifact: string;
      readonly sizeBytes: WholeNumber;
      /** How many files and links it contains. */
      readonly entries: WholeNumber;
      /** Where `--output` wrote it. */
      readonly file: string | null;
    };
  };

  /** `prune` */
  readonly prune: {
    /** One for each artifact of the store. */
    readonly pruned_artifact: {
      /** The artifact's digest. */
      readonly artifact: string;
      readonly sizeBytes: WholeNumber;
      /** When it was last stored. */
      readonly putAt: Instant;
      /** Its newest release. `null`: no record names one. */
      readonly last: RecordedRelease | null;
      /** `would_go`: with `--dry-run`. */
      readonly state: 'kept' | 'removed' | 'would_go';
      /** Why it is kept, in words. Empty: it is not kept. */
      readonly kept: readonly string[];
    };
    /** The last one. */
    readonly pruned: {
      readonly store: string;
      readonly dryRun: boolean;
      readonly kept: WholeNumber;
      readonly removed: WholeNumber;
      readonly bytesFreed: WholeNumber;
      /** Records that processes left behind, and that cannot be read. They stay. */
      readonly unreadable: readonly string[];
      readonly exitCode: ExitCode;
    };
  };
}
