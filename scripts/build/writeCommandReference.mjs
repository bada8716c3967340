// What is published of the command line's definitions: `docs/commands.md`.
import { fromBuild, publish } from './publish.mjs';

/** Writes it where it differs from what is there. */
export async function writeCommandReference() {
  const { buildProgram } = await fromBuild('cli/program/program.js');
  const { commandReferencePage } = await fromBuild('cli/program/referencePage.js');
  const program = buildProgram({ version: '0.0.0', onExit: () => undefined });
  await publish('docs/commands.md', commandReferencePage(program));
}
