import type { BuildLimits } from './buildLimits.ts';

/**
 * A build's log: lines as they come, bounded in length and number. Where the bound is reached it says so, once;
 * the rest is left out.
 *
 * @param workspace - shown as `.` in every line: where the platform keeps its files is of no use to the reader.
 */
export function boundedLog(
  log: (line: string) => void,
  limits: BuildLimits,
  workspace: string,
): (line: string) => void {
  let lines = 0;
  return (line) => {
    lines += 1;
    if (lines > limits.logLines) return;
    if (lines === limits.logLines) {
      log(`… The log has reached ${String(limits.logLines)} lines. The rest is left out.`);
      return;
    }
    const text = line.replaceAll(workspace, '.');
    log(text.length > limits.logLineChars ? `${text.slice(0, limits.logLineChars)} … (cut)` : text);
  };
}
