import { chmod, writeFile } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

import { expect, it } from 'vitest';

import { runTemporalInstallCommand } from '../../../src/cli/commands/temporalInstall.ts';
import { cachedTemporalPath } from '../../../src/temporal/server/installation/executable.ts';
import { testOutput } from '../testOutput.ts';
import { temporaryFolder } from '../../support/temporaryFolder.ts';

/** A fake `go` that builds a `temporal` that prints the cached version. */
const GO = `#!/bin/sh
[ "$1" = version ] && exit 0
printf '#!/bin/sh\necho "temporal version 1.5.1 (Server 1.29.1, UI 2.42.1)"\n' > "$GOBIN/temporal"
chmod +x "$GOBIN/temporal"
`;

it('an installation is an event with its origin', async () => {
  const folder = await temporaryFolder();
  await writeFile(join(folder, 'go'), GO);
  await chmod(join(folder, 'go'), 0o755);
  const environment = {
    PATH: [folder, '/usr/bin', '/bin'].join(delimiter),
    XDG_CACHE_HOME: join(folder, 'cache'),
    // The proxy blocks the SDK's download wherever the test runs.
    HTTPS_PROXY: 'http://127.0.0.1:9',
  };
  const output = testOutput({ json: true });
  await runTemporalInstallCommand({ output, home: folder, environment });
  const [installed, ...before] = output.events.toReversed();
  expect(new Set(before.map(({ event }) => event))).toEqual(new Set(['progress']));
  expect(installed).toEqual({ event: 'installed', path: cachedTemporalPath(environment), origin: 'go' });
});
