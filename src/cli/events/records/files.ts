import { z } from 'zod';

import type * as artifact from '../../../artifact/artifactFiles.ts';
import type { FieldDifference as Field } from '../../../domain/fieldDifferences.ts';
import { Count, maybe } from '../fields.ts';
import { mirrorOf } from '../mirror.ts';

export const ArtifactFile = mirrorOf<artifact.ArtifactFile>()(
  z.strictObject({
    path: z.string(),
    sizeBytes: Count,
    digest: z.string().describe('sha256 of its content, its mode and, of a link, where it leads'),
  }),
).meta({ id: 'ArtifactFile', description: 'One file or link of an artifact' });

export const FilesDifference = mirrorOf<artifact.FilesDifference>()(
  z.strictObject({
    added: z.array(ArtifactFile),
    removed: z.array(ArtifactFile),
    changed: z.array(z.strictObject({ from: ArtifactFile, to: ArtifactFile })),
  }),
).meta({ id: 'FilesDifference', description: 'In what the files of two artifacts differ' });

export const FieldDifference = mirrorOf<Field>()(
  z.strictObject({
    path: z.string().describe('What has a name is named by it: `checks.greets.timeoutMs`'),
    from: maybe(z.unknown()).describe('Absent: it is not set there'),
    to: maybe(z.unknown()).describe('Absent: it is not set there'),
  }),
).meta({ id: 'FieldDifference', description: 'One field in which two configurations differ' });
