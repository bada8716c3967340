import type { PlatformErrorCode } from '@slipway/contract/platformErrors';

import type { ErrorCode } from '../../domain/errors.ts';
import type { ExitCode, Instant, WholeNumber } from '../../domain/scalars.ts';

/** The events of any command, and of those that start or install something. */
export interface MachineSections {
  /** Any command */
  readonly anyCommand: {
    /** The command ends with an error. */
    readonly error: {
      readonly code: ErrorCode | PlatformErrorCode;
      readonly message: string;
      /** A file with line and column, the path of a field, or an address. */
      readonly place: string | null;
      /** What to do about it. */
      readonly hint: string | null;
      readonly exitCode: ExitCode;
      /** With `--verbose`. */
      readonly stack?: string;
    };
  };

  /** `dev` */
  readonly dev: {
    /** Everything runs. */
    readonly ready: {
      readonly controlPlane: string;
      /** Temporal's address. */
      readonly temporal: string;
      /** `null`: `dev` did not start this Temporal. */
      readonly temporalUi: string | null;
      /** The page's address. */
      readonly dashboard: string;
      /** The address of the hooks' listener; `null`: slipway.yaml has none. */
      readonly hooks: string | null;
      /** The control plane's API key: keep it out of logs. */
      readonly apiKey: string;
    };
    /** A service ended unexpectedly, and is started again. */
    readonly service: {
      readonly name: string;
      readonly state: 'died' | 'restarted' | 'not_restarted';
      /** With `died`: when it is started again. */
      readonly restartInMs?: WholeNumber;
      /** With `not_restarted`: why not. */
      readonly reason?: string;
    };
    /** Everything has ended. `demo` and `rehearse` print it too after Ctrl-C. */
    readonly stopped: object;
  };

  /** `dashboard` */
  readonly dashboard: {
    /** The page answers. */
    readonly ready: { readonly dashboard: string };
  };

  /** `login` */
  readonly login: {
    /** A person has to sign in at this address, in a browser on this machine. */
    readonly sign_in: { readonly url: string };
    /** The person has signed in. */
    readonly signed_in: {
      /** What releases record. */
      readonly name: string;
      /** When the sign-in expires. */
      readonly until: Instant;
      /** The file that keeps it. */
      readonly file: string;
    };
  };

  /** `logout` */
  readonly logout: {
    /** No sign-in is kept any more. */
    readonly signed_out: object;
  };

  /** `codec` */
  readonly codec: {
    /** The codec server answers. */
    readonly ready: { readonly codec: string };
  };

  /** `agent` */
  readonly agent: {
    /** The agent server accepts requests. */
    readonly ready: { readonly url: string };
  };

  /** `worker` */
  readonly worker: {
    /** The worker polls its task queue. */
    readonly ready: {
      readonly taskQueue: string;
      readonly namespace: string;
      /** With `SLIPWAY_WORKER_VERSIONING=1`: its version. */
      readonly buildId?: string;
    };
    /** Whether a versioned worker takes new work. */
    readonly version: {
      readonly buildId: string;
      /** `made_current`: it is the first version; `current`: it takes new work; `waits`: another version does. */
      readonly state: 'made_current' | 'current' | 'waits';
    };
    /** The worker retries a step at once that a killed worker of the same home had started. */
    readonly took_over: {
      readonly workflowId: string;
      readonly activityType: string;
      /** The killed worker. */
      readonly from: string;
    };
    /** The worker cannot know which steps killed workers had started. */
    readonly warning: { readonly message: string };
  };

  /** `worker rollout` */
  readonly workerRollout: {
    /** Where new work goes from now on. */
    readonly routed: {
      readonly buildId: string;
      /** The share in percent; 0: the ramp has ended. */
      readonly percentage: WholeNumber;
    };
    /** A release or a rollback that was pinned to another version. */
    readonly moved: {
      readonly workflowId: string;
      readonly from: string;
      readonly to: string;
      readonly moved: boolean;
      /** Why it stays; `null`: it was moved. */
      readonly reason: string | null;
    };
    /** A version of the workers. */
    readonly worker_version: {
      readonly buildId: string;
      /** @open */
      readonly status: 'inactive' | 'current' | 'ramping' | 'draining' | 'drained';
      /** The share of new work while it is ramping. */
      readonly percentage: number | null;
      /** The workflows of the releases and rollbacks that run pinned to it. */
      readonly releases: readonly string[];
      /** Whether this installation has this version. */
      readonly own: boolean;
    };
  };

  /** `temporal install` */
  readonly temporalInstall: {
    /** While it works. */
    readonly progress: { readonly message: string };
    /** Temporal is installed. */
    readonly installed: {
      readonly path: string;
      /**
       * Where Temporal was found, or how it was installed.
       * @open
       */
      readonly origin: 'path' | 'cache' | 'download' | 'go';
    };
  };
}
