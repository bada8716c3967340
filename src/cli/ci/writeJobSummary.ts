import { appendFile } from 'node:fs/promises';

import type { CommandContext } from '../context.ts';

/** The outputs of `action.yml`, by their names. */
export type Outputs = Readonly<Record<string, string>>;

/** Gives a job its summary, in Markdown, and the step its outputs: on GitHub, which names the files. */
export async function writeJobSummary(
  context: CommandContext,
  summary: string,
  outputs: Outputs,
): Promise<void> {
  const lines = Object.entries(outputs).map(
    ([name, value]) => `${name}=${value.replaceAll(/[\r\n]/g, ' ')}\n`,
  );
  await append(context, 'GITHUB_STEP_SUMMARY', summary);
  await append(context, 'GITHUB_OUTPUT', lines.join(''));
}

/** Appends to a file that GitHub names. One that cannot be written never changes how a release ended. */
async function append(
  { environment, output }: CommandContext,
  variable: 'GITHUB_STEP_SUMMARY' | 'GITHUB_OUTPUT',
  text: string,
): Promise<void> {
  const file = environment[variable];
  if (file === undefined || file === '') return;
  try {
    await appendFile(file, text);
  } catch (error) {
    output.note(
      `${variable} could not be written: ${error instanceof Error ? error.message : String(error)}`,
    );
  }
}
