import type { PreviewResult, PreviewSummary } from '../../domain/preview/preview.ts';
import type { ExitCode, Instant, WholeNumber } from '../../domain/scalars.ts';

/** The events of previews. */
export interface PreviewSections {
  /**
   * `preview`
   *
   * It prints `preview_evicted` for each preview that made room, then `artifact`, `submitted` and what follows as `release`
   * does, and `preview` last.
   */
  readonly preview: {
    /** A preview that makes room is being removed (`previews.NAME.max`). */
    readonly preview_evicted: {
      readonly name: string;
      readonly pr: WholeNumber;
      readonly deployment: string;
    };
    /** The preview, once its release was queued or has ended. */
    readonly preview: {
      readonly name: string;
      readonly pr: WholeNumber;
      readonly deployment: string;
      readonly workflowId: string;
      readonly releaseId: string;
      readonly expiresAt: Instant;
      /** Where the agent answers. `null`: not known yet. */
      readonly agentUrl: string | null;
      /** Why no comment was written. `null`: it was, or none is due, or that is not known yet. */
      readonly commentProblem: string | null;
      readonly exitCode: ExitCode;
    };
  };

  /** `preview list` */
  readonly 'preview list': {
    /** One for each preview. */
    readonly listed_preview: PreviewSummary & { readonly workflowId: string };
  };

  /** `preview down` */
  readonly 'preview down': {
    /** The preview was asked to remove itself. */
    readonly preview_removal: {
      readonly name: string;
      readonly pr: WholeNumber;
      readonly deployment: string;
      readonly workflowId: string;
    };
    /** It was removed. */
    readonly preview_removed: PreviewResult & { readonly exitCode: ExitCode };
  };
}
