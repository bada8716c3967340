/**
 * Ends this process as SIGTERM does once its stdin ends, where `SLIPWAY_EXIT_WITH_PARENT=1` says that the other end is
 * held by whoever started it: it must not outlive that process, however that ends.
 */
export function exitWithParent(environment: Readonly<Record<string, string | undefined>>): void {
  if (environment['SLIPWAY_EXIT_WITH_PARENT'] !== '1') return;
  let ended = false;
  const end = (): void => {
    if (ended) return;
    ended = true;
    process.kill(process.pid, 'SIGTERM');
  };
  const { stdin } = process;
  stdin.once('end', end).once('error', end).once('close', end).resume();
  // Listening to it must not keep a process alive that has nothing else to do. What is no socket cannot.
  if ('unref' in stdin && typeof stdin.unref === 'function') stdin.unref();
}
