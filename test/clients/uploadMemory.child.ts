// Uploads the file in the first argument to the URL in the second, and prints how much the process grew, in bytes.
import { putArtifact } from '../../src/clients/artifactUpload.ts';
import { createAgent } from '../../src/clients/service.ts';

const [, , source = '', upload_url = ''] = process.argv;
const agent = createAgent();
const service = { origin: 'http://127.0.0.1', credentials: {} };

// The first request loads and compiles code, which does not count as an upload's memory.
await putArtifact(agent, service, { upload: { upload_url }, source: import.meta.filename });
// The peak, not the present size: loading may have taken more for a moment.
const before = process.resourceUsage().maxRSS;
await putArtifact(agent, service, { upload: { upload_url }, source });
console.log(JSON.stringify({ grownBytes: (process.resourceUsage().maxRSS - before) * 1024 }));
await agent.close();
