import type { Standing } from '../../domain/intervention/intervention.ts';
import type { ReleaseRequest } from '../../domain/release/release.ts';
import type { Asked } from '../identity/proveIdentity.ts';

/** The part of a request that decides which interventions are possible. */
export type IntervenedRequest = Pick<
  ReleaseRequest,
  'checks' | 'soakMs' | 'pauseMs' | 'freezes' | 'approval' | 'onError' | 'requestedBy'
> &
  Pick<Standing, 'called'> & {
    /** Whether a candidate is to be judged. */
    readonly judged?: boolean;
    /** What proves who asked; absent if no proof is possible. */
    readonly asked?: Asked;
    /** A schedule asked, and no person. */
    readonly scheduled?: boolean;
  };
