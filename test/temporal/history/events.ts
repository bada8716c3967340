import { defaultPayloadConverter } from '@temporalio/common';

/** Values as an event contains them. */
export function payloads(...values: readonly unknown[]) {
  return { payloads: values.map((value) => defaultPayloadConverter.toPayload(value)) };
}

export function signal(signalName: string, message: unknown): object {
  return { workflowExecutionSignaledEventAttributes: { signalName, input: payloads(message) } };
}
