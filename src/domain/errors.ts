import { CodedError, type CodedErrorOptions } from '@slipway/contract/codedError';

/**
 * All errors of the command and the worker by their stable codes. `docs/errors.md` has a section for each. `exitCode`
 * is the command's. The platform has its own errors: `@slipway/contract/platformErrors`.
 */
export const ERROR_CATALOGUE = {
  // Usage and configuration
  SLIPWAY_USAGE: { exitCode: 1, title: 'The command line is not valid' },
  SLIPWAY_CONFIG_NOT_FOUND: { exitCode: 1, title: 'No slipway.yaml was found' },
  SLIPWAY_CONFIG_INVALID: { exitCode: 1, title: 'slipway.yaml is not valid' },
  SLIPWAY_TARGET_UNKNOWN: { exitCode: 1, title: 'slipway.yaml has no target of that name' },
  SLIPWAY_PROMOTION_UNKNOWN: { exitCode: 1, title: 'slipway.yaml has no promotion of that name' },
  SLIPWAY_PREVIEW_UNKNOWN: { exitCode: 1, title: 'slipway.yaml has no preview of that name' },
  SLIPWAY_PREVIEWS_FULL: { exitCode: 4, title: 'There are as many previews as slipway.yaml allows' },
  SLIPWAY_SCHEDULE_UNKNOWN: { exitCode: 1, title: 'The promotion has no schedule in Temporal' },
  SLIPWAY_TARGET_NEVER_RELEASED: { exitCode: 1, title: 'The target has never taken a release' },
  SLIPWAY_RELEASE_UNKNOWN: { exitCode: 1, title: 'The target has no release of that name' },
  SLIPWAY_WRONG_MOMENT: { exitCode: 4, title: 'The release cannot accept this command now' },
  SLIPWAY_TARGET_ON_HOLD: { exitCode: 4, title: 'The target is on hold' },
  SLIPWAY_TARGET_FROZEN: { exitCode: 4, title: 'A freeze is in force' },
  SLIPWAY_SECRET_MISSING: { exitCode: 1, title: 'A referenced secret is not set' },
  SLIPWAY_SECRET_REFUSED: { exitCode: 1, title: 'The secret must not be sent to that address' },
  SLIPWAY_PAYLOAD_KEYS_INVALID: { exitCode: 1, title: 'The payload keys are not valid' },
  SLIPWAY_PAYLOAD_KEY_MISSING: { exitCode: 1, title: 'The key of an encrypted payload is not configured' },
  SLIPWAY_PAYLOAD_UNREADABLE: { exitCode: 1, title: 'An encrypted payload could not be decrypted' },
  SLIPWAY_CODEC_OPEN: { exitCode: 1, title: 'The codec server would be open to the whole network' },
  SLIPWAY_DATASET_INVALID: { exitCode: 1, title: 'A dataset cannot be used' },
  SLIPWAY_DATASET_CHANGED: { exitCode: 1, title: 'A dataset does not have the digest that is stated' },
  SLIPWAY_JUDGE_INPUTS_INVALID: { exitCode: 1, title: 'The judge’s inputs cannot be used' },
  // Hooks
  SLIPWAY_HOOK_UNKNOWN: { exitCode: 1, title: 'There is no hook of that name' },
  SLIPWAY_HOOK_FORGED: { exitCode: 4, title: 'The delivery to a hook was not signed with its secret' },
  SLIPWAY_HOOK_STALE: { exitCode: 4, title: 'The delivery to a hook was signed too long ago' },
  SLIPWAY_HOOK_PAYLOAD: { exitCode: 1, title: 'The delivery to a hook is not of its form' },
  SLIPWAY_HOOK_TOO_LARGE: { exitCode: 1, title: 'The delivery to a hook is too large' },
  SLIPWAY_HOOK_BUSY: { exitCode: 6, title: 'The hooks’ listener is processing too many deliveries' },
  // Artifacts
  SLIPWAY_ARTIFACT_NOT_FOUND: { exitCode: 1, title: 'The artifact is not in the artifact store' },
  SLIPWAY_ARTIFACT_TOO_LARGE: { exitCode: 1, title: 'The artifact is larger than 200 MB' },
  SLIPWAY_ARTIFACT_CORRUPT: { exitCode: 1, title: 'The artifact does not match its digest' },
  SLIPWAY_ARTIFACT_HOLDS_SECRET: { exitCode: 1, title: 'The source contains a suspected secret' },
  SLIPWAY_ARTIFACT_UNMERGED: { exitCode: 1, title: 'A file of the source has a merge conflict' },
  SLIPWAY_ARTIFACT_UNREADABLE: { exitCode: 1, title: 'A file of the source could not be read' },
  SLIPWAY_ARTIFACT_STORE_UNAVAILABLE: {
    exitCode: 6,
    title: 'The artifact store could not be read or written',
  },
  SLIPWAY_RECORD_UNREADABLE: { exitCode: 1, title: 'A record in the artifact store cannot be read' },
  SLIPWAY_ARTIFACT_STORE_REFUSED: { exitCode: 6, title: 'The artifact store rejected the request' },
  // Temporal
  SLIPWAY_TEMPORAL_UNREACHABLE: { exitCode: 6, title: 'Temporal could not be reached' },
  SLIPWAY_TEMPORAL_NOT_INSTALLED: { exitCode: 6, title: 'Temporal could not be found or installed' },
  SLIPWAY_TEST_SERVER_UNAVAILABLE: {
    exitCode: 6,
    title: 'Temporal’s test server could not be found, installed or started',
  },
  SLIPWAY_NO_WORKER: { exitCode: 6, title: 'No worker polls the task queue' },
  SLIPWAY_TARGET_UNREADABLE: { exitCode: 4, title: 'The target cannot read its earlier state' },
  SLIPWAY_WORKFLOW_STUCK: { exitCode: 3, title: 'Workers cannot continue a workflow' },
  SLIPWAY_VERSION_UNKNOWN: { exitCode: 1, title: 'The workers have no version of that build id' },
  SLIPWAY_REPLAY_FAILED: { exitCode: 3, title: 'Running workflows do not replay on the version' },
  SLIPWAY_ROLLOUT_REFUSED: { exitCode: 6, title: 'Temporal rejected the change of the rollout' },
  SLIPWAY_TARGET_SILENT: { exitCode: 6, title: 'A target did not answer' },
  SLIPWAY_SEARCH_ATTRIBUTES_MISSING: { exitCode: 6, title: 'The search attributes are not registered' },
  // The two services, as their clients see them
  SLIPWAY_UNREACHABLE: { exitCode: 6, title: 'The service could not be reached' },
  SLIPWAY_NO_ANSWER: { exitCode: 6, title: 'The service did not answer the request' },
  SLIPWAY_BAD_ANSWER: { exitCode: 6, title: 'The service’s answer violates its contract' },
  SLIPWAY_UNAUTHORIZED: { exitCode: 6, title: 'The service rejected the credentials' },
  SLIPWAY_NOT_FOUND: { exitCode: 1, title: 'The service does not have that resource' },
  SLIPWAY_CONFLICT: { exitCode: 6, title: 'The service reports a conflict' },
  SLIPWAY_REFUSED: { exitCode: 1, title: 'The service rejected the request as invalid' },
  SLIPWAY_RATE_LIMITED: { exitCode: 6, title: 'The service asks to slow down' },
  SLIPWAY_SERVICE_ERROR: { exitCode: 6, title: 'The service failed' },
  // The platform on this machine
  SLIPWAY_PLATFORM_NOT_INSTALLED: { exitCode: 1, title: 'The platform is not installed' },
  SLIPWAY_PORT_UNAVAILABLE: { exitCode: 1, title: 'The port cannot be listened on' },
  // The page
  SLIPWAY_DASHBOARD_OPEN: { exitCode: 1, title: 'The page would be open to the whole network' },
  SLIPWAY_DASHBOARD_ADDRESS: {
    exitCode: 1,
    title: 'The dashboard does not know the address that it was opened by',
  },
  SLIPWAY_SIGNED_OUT: { exitCode: 4, title: 'The person is not signed in' },
  SLIPWAY_SIGN_IN_FAILED: { exitCode: 4, title: 'The sign-in was rejected' },
  SLIPWAY_SIGN_IN_LIMITED: { exitCode: 4, title: 'There were too many wrong keys' },
  SLIPWAY_SIGN_IN_UNAVAILABLE: { exitCode: 6, title: 'The OIDC issuer could not be reached' },
  SLIPWAY_ROLE_MISSING: { exitCode: 4, title: 'The person’s role does not include this' },
  SLIPWAY_CROSS_SITE_REQUEST: { exitCode: 4, title: 'The request did not come from the page itself' },
  SLIPWAY_IDENTITY_UNPROVED: { exitCode: 4, title: 'The identity was not proved' },
  // What a release can end on
  SLIPWAY_DEPLOYMENT_OWNED: { exitCode: 2, title: 'The deployment belongs to another target' },
  SLIPWAY_REVISION_FAILED: { exitCode: 2, title: 'The revision failed' },
  SLIPWAY_WORKER_KILLED: { exitCode: 3, title: 'The worker was killed in the middle of a step' },
  SLIPWAY_STEP_TIMED_OUT: { exitCode: 2, title: 'A step did not finish before its deadline' },
  SLIPWAY_NOT_SERVING: { exitCode: 2, title: 'The deployment does not serve the revision' },
  SLIPWAY_CHECK_FAILED: { exitCode: 2, title: 'A check failed' },
  SLIPWAY_CHECK_UNDECIDED: { exitCode: 2, title: 'The rows of a dataset are not enough to tell' },
  SLIPWAY_CHECKS_BUDGET_SPENT: { exitCode: 2, title: 'The budget of the checks is spent' },
  SLIPWAY_EVALUATOR_FAILED: { exitCode: 6, title: 'An evaluator gave no score' },
  SLIPWAY_CANDIDATE_WORSE: { exitCode: 2, title: 'The judge found the candidate worse' },
  SLIPWAY_JUDGE_INCONCLUSIVE: { exitCode: 2, title: 'The judge reached no verdict' },
  SLIPWAY_JUDGE_ERRORED: { exitCode: 3, title: 'The judge could not run' },
  SLIPWAY_REVISION_REPLACED: { exitCode: 4, title: 'Another revision serves' },
  SLIPWAY_REVISION_NOT_REACHED: {
    exitCode: 2,
    title: 'Slipway restored another revision than the one you named',
  },
  SLIPWAY_OUTCOME_UNKNOWN: { exitCode: 3, title: 'The request may have been carried out' },
  SLIPWAY_NOTHING_TO_RESTORE: { exitCode: 2, title: 'There is no revision to restore' },
  SLIPWAY_DISK_FULL: { exitCode: 1, title: 'The disk of this machine is full' },
  SLIPWAY_INSTALLATION_DAMAGED: { exitCode: 1, title: 'A file of Slipway itself is missing or damaged' },
  SLIPWAY_DEMO_FAILED: { exitCode: 3, title: 'The demo failed' },
  SLIPWAY_INTERNAL: { exitCode: 3, title: 'Slipway failed with an unexpected error' },
} as const satisfies Record<string, { exitCode: number; title: string }>;

/**
 * A stable error code, `SLIPWAY_…`.
 * @open those of docs/errors.md
 */
export type ErrorCode = keyof typeof ERROR_CATALOGUE;

/** The page with a section for each code: in the repository, and in the published package. */
const ERRORS_PAGE = 'docs/errors.md';

/** The section that explains an error: what happened, why, and what to do. */
export function errorPage(code: string): string {
  return `${ERRORS_PAGE}#${code.toLowerCase()}`;
}

/** The fields of a {@link SlipwayError}, except its code. */
export type SlipwayErrorOptions = CodedErrorOptions;

/** A failure that Slipway reports on purpose. `message` says in one sentence what happened. */
export class SlipwayError extends CodedError<ErrorCode> {
  constructor(code: ErrorCode, message: string, options: SlipwayErrorOptions = {}) {
    super(code, ERROR_CATALOGUE[code].exitCode, message, options);
    this.name = 'SlipwayError';
  }
}

/** An error in one line: its message, and its hint in parentheses. */
export function withHint({ message, hint }: SlipwayError): string {
  return hint === undefined ? message : `${message} (${hint})`;
}

/** Whether an error has one of these codes. */
export function hasCode(error: unknown, ...codes: readonly ErrorCode[]): error is SlipwayError {
  return error instanceof SlipwayError && codes.includes(error.code);
}

/** For a `catch`: handles the errors that Slipway reports on purpose, or those with one code, and throws the others. */
export function onSlipwayError<T>(
  handle: (error: SlipwayError) => T,
  code?: ErrorCode,
): (error: unknown) => T {
  return (error) => {
    if (error instanceof SlipwayError && (code === undefined || code === error.code)) return handle(error);
    throw error;
  };
}
