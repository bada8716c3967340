/**
 * Whether a Node of version `running` does for a graph configuration that asks for `asked` (`node_version`): `20` asks
 * for Node 20, `20.11` for Node 20 from 20.11 on. Without an ask, any does.
 */
export function doesForNodeVersion(asked: string | undefined, running: string): boolean {
  if (asked === undefined) return true;
  const [major, ...rest] = asked.split('.').map(Number);
  const [runningMajor, ...there] = running.split('.').map(Number);
  if (major !== runningMajor) return false;
  const difference = [0, 1].map((i) => (there[i] ?? 0) - (rest[i] ?? 0)).find((each) => each !== 0);
  return (difference ?? 0) >= 0;
}
