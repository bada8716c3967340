import { createReadStream, createWriteStream } from 'node:fs';
import { mkdir, rm, stat } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';

import { systemReason } from '../../../artifact/sourceFiles.ts';
import { loadConfig } from '../../../config/loadConfig.ts';
import { SlipwayError } from '../../../domain/errors.ts';
import type { CommandContext, FileOptions } from '../../context.ts';
import { interruptible } from '../../interruption.ts';
import { visibleName } from '../../output.ts';
import { counted, sizeText } from '../../ui/text.ts';
import { packWarned } from './artifactOf.ts';
import { sourceToPack, withoutLinks } from './sourceToPack.ts';

interface PackCommandOptions extends FileOptions {
  readonly list?: boolean;
  readonly output?: string;
  readonly strict?: boolean;
}

/**
 * `slipway pack`: what a release would ship, with its digest, without shipping it.
 * @throws SlipwayError SLIPWAY_CONFIG_…, SLIPWAY_ARTIFACT_…; SLIPWAY_USAGE if the tarball cannot be written.
 */
export async function runPackCommand(context: CommandContext, options: PackCommandOptions): Promise<void> {
  const { output } = context;
  const project = await loadConfig(options.config);
  const source = await sourceToPack(project, context);
  return interruptible(async (signal) => {
    if (options.list === true) {
      for (const { path } of source.entries) {
        output.event({ event: 'entry', path });
        output.print(visibleName(path));
      }
    }
    const packed = await packWarned(output, source, options.strict ?? false, signal);
    try {
      const { digest, sizeBytes, entries } = packed;
      const file = options.output === undefined ? null : resolve(options.output);
      if (file !== null) {
        await writeTo(file, packed.file);
        const { root, entries: next } = await sourceToPack(project, context);
        const written = await withoutLinks(file);
        if (next.some(({ path }) => join(root, path) === written)) {
          output.warn(`${options.output} is in the source: a release packs it too, and has another digest`);
          output.note('  move it out of the source, or list it in .slipwayignore');
        }
      }
      output.event({ event: 'packed', artifact: digest, sizeBytes, entries, file });
      output.print(
        `${digest} (${sizeText(sizeBytes)}, ${counted(entries, 'file')})${file === null ? '' : `: ${file}`}`,
      );
    } finally {
      await packed.remove();
    }
  });
}

async function writeTo(file: string, packed: string): Promise<void> {
  try {
    await mkdir(dirname(file), { recursive: true });
    // `copyFile` would delete a device such as /dev/null if it fails.
    await pipeline(createReadStream(packed), createWriteStream(file));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).syscall === 'write') await removeFile(file);
    const reason = systemReason(error);
    const what = `the tarball could not be written to ${file}: ${reason}`;
    const hint = 'name another file with --output';
    throw new SlipwayError('SLIPWAY_USAGE', what, { place: '--output', hint, cause: error });
  }
}

/** Removes a half-written file, but no device. */
async function removeFile(file: string): Promise<void> {
  if ((await stat(file)).isFile()) await rm(file);
}
