import type { ChildProcess } from 'node:child_process';

interface Call {
  readonly id: number;
  readonly method: string;
  readonly args: readonly unknown[];
}

interface Reply {
  readonly id: number;
  readonly result?: unknown;
  readonly error?: string;
}

/** An interface that another process can call: every method returns a promise. */
type Methods<T> = { [K in keyof T]: (...args: never[]) => Promise<unknown> };

/** Serves the parent process's calls. This process ends when the parent ends. */
export function serve<T extends Methods<T>>(target: T): void {
  process.on('message', (call: Call) => {
    void answer(target, call).then((reply) => process.send?.(reply));
  });
  process.once('disconnect', () => process.exit());
}

async function answer<T extends Methods<T>>(target: T, { id, method, args }: Call): Promise<Reply> {
  try {
    return { id, result: await target[method as keyof T](...(args as never[])) };
  } catch (error) {
    return { id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}

/** Calls methods of a child process. A call fails if the child ends before it has answered. */
export function remote<T extends Methods<T>>(child: ChildProcess): T {
  const waiting = new Map<number, PromiseWithResolvers>();
  let lastId = 0;
  child.on('message', ({ id, result, error }: Reply) => {
    const call = waiting.get(id);
    waiting.delete(id);
    if (error === undefined) call?.resolve(result);
    else call?.reject(new Error(error));
  });
  child.once('exit', (code, signal) => {
    for (const call of waiting.values())
      call.reject(new Error(`the process ended (${signal ?? code ?? ''})`));
    waiting.clear();
  });
  const call = (method: string, args: readonly unknown[]): Promise<unknown> =>
    new Promise((resolve, reject) => {
      lastId += 1;
      waiting.set(lastId, { resolve, reject });
      child.send({ id: lastId, method, args } satisfies Call);
    });
  return new Proxy({} as T, {
    get:
      (_target, method) =>
      (...args: unknown[]) =>
        call(String(method), args),
  });
}

interface PromiseWithResolvers {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}
