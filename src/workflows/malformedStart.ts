import { ApplicationFailure, type WorkflowInterceptorsFactory, workflowInfo } from '@temporalio/workflow';

/**
 * Fails a workflow whose first workflow task throws a `TypeError` or a `RangeError`, because its input is malformed, for
 * example missing in `temporal workflow start`. Temporal would repeat that task for ever (design, rule 9).
 *
 * A child and a run that continues another have their input from Slipway: there the error is a defect, and the workflow
 * continues once a worker without it runs.
 *
 * The bundler looks for this export.
 */
export const interceptors: WorkflowInterceptorsFactory = () => {
  const { parent, continuedFromExecutionRunId, workflowType } = workflowInfo();
  if (parent !== undefined || continuedFromExecutionRunId !== undefined) return {};
  let hasBegun = false;
  return {
    inbound: [
      {
        async execute(input, next) {
          try {
            return await next(input);
          } catch (error) {
            if (hasBegun || !(error instanceof TypeError || error instanceof RangeError)) throw error;
            throw ApplicationFailure.nonRetryable(
              `the input is not that of a ${workflowType}: ${error.message}`,
              'SLIPWAY_USAGE',
            );
          }
        },
      },
    ],
    internals: [
      {
        concludeActivation(input, next) {
          hasBegun = true;
          return next(input);
        },
      },
    ],
  };
};
