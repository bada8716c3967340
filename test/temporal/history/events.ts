import { defaultPayloadConverter } from '@temporalio/common';

export function payloads(...values: readonly unknown[]) {
  return { payloads: values.map((value) => defaultPayloadConverter.toPayload(value)) };
}

export function signal(signalName: string, message: unknown): object {
  return { workflowExecutionSignaledEventAttributes: { signalName, input: payloads(message) } };
}
