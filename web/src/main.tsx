import { StrictMode } from 'react';
import { createRoot } from 'react-dom/client';
import { RouterProvider } from '@tanstack/react-router';
import './styles.css';
import './store/actions';
import { offerInstall, registerServiceWorker } from './pwa';
import { router } from './router';
import { socket } from './store/client';
import { startWatchingJobs } from './store/jobs';
import { startNotifying } from './store/notify';

socket.connect();
addEventListener('online', () => socket.wake());
document.addEventListener('visibilitychange', () => !document.hidden && socket.wake());
startNotifying();
startWatchingJobs();
registerServiceWorker();
offerInstall();

const place = document.getElementById('root');
if (place) {
  createRoot(place).render(
    <StrictMode>
      <RouterProvider router={router} />
    </StrictMode>,
  );
}
