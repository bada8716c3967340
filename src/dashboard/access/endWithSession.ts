/** Ends a live stream when its session ends. Other responses stay unchanged. */
export function endWithSession(answer: Response, ends: number): Response {
  const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true;
  const body: ReadableStream<Uint8Array> | null = answer.body;
  if (!isStream || body === null) return answer;
  const reader = body.getReader();
  let timer: NodeJS.Timeout | undefined;
  const untilEnd = new ReadableStream<Uint8Array>({
    start(controller) {
      // A pending read resolves as if the stream had ended by itself.
      const end = (): void => void reader.cancel().catch((error: unknown) => controller.error(error));
      timer = setTimeout(end, ends - Date.now());
    },
    async pull(controller) {
      const next = await reader.read();
      if (!next.done) {
        controller.enqueue(next.value);
        return;
      }
      clearTimeout(timer);
      controller.close();
    },
    async cancel() {
      clearTimeout(timer);
      await reader.cancel();
    },
  });
  return new Response(untilEnd, answer);
}
