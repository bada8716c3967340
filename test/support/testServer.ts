import { choosePort } from '../../src/cli/commands/dev/ports.ts';
import { SlipwayError } from '../../src/domain/errors.ts';
import { installTestServer } from '../../src/temporal/server/installation/testServerInstallation.ts';
import { startTestServer, type TestServer } from '../../src/temporal/server/testServer.ts';

/** A time-skipping test server, or why there is none on this machine. The caller stops it. */
export async function openTestServer(): Promise<TestServer | string> {
  try {
    const { path: executable } = await installTestServer({});
    const port = await choosePort({ option: 'none', asked: 0, preferred: 0 });
    return await startTestServer({ executable, port });
  } catch (error) {
    if (error instanceof SlipwayError && error.code === 'SLIPWAY_TEST_SERVER_UNAVAILABLE')
      return error.message;
    throw error;
  }
}
